# Source me: puts the names of existing scripts (pva, libpvti, poptorch) on PYTHONPATH, gc-info and gc-monitor on PATH:
# their commands work literally.
#
#   source enable.sh
#   POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true"}' python prog.py
#
# Refuses when a real Poplar SDK is enabled: its own modules must win there.
_popvision_enable() {
    local here
    here="$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)" || return 1
    if [ -n "${POPLAR_SDK_ENABLED:-}" ]; then
        echo "enable.sh: a Poplar SDK is enabled at ${POPLAR_SDK_ENABLED}; open a new shell without it first." >&2
        return 1
    fi
    local entry IFS=:
    for entry in ${PYTHONPATH:-}; do
        if [ "$entry" != "$here/compat" ] && { [ -e "$entry/pva" ] || [ -e "$entry/libpvti" ] || [ -e "$entry/poplar" ] || [ -e "$entry/poptorch" ]; }; then
            echo "enable.sh: $entry on PYTHONPATH holds an SDK's own pva, libpvti, poplar or poptorch; remove it first." >&2
            return 1
        fi
    done
    if [ ! -d "$here/compat" ]; then
        echo "enable.sh: $here/compat is missing; run this file from the project's folder." >&2
        return 1
    fi
    case ":${PYTHONPATH:-}:" in
        *":$here/compat:"*) ;;
        *) export PYTHONPATH="$here/compat${PYTHONPATH:+:$PYTHONPATH}" ;;
    esac
    case ":$PATH:" in
        *":$here/compat/bin:"*) ;;
        *) export PATH="$here/compat/bin:$PATH" ;;
    esac
    if [ -x "$here/.venv/bin/python" ]; then
        case ":$PATH:" in
            *":$here/.venv/bin:"*) ;;
            *) export PATH="$here/.venv/bin:$PATH" ;;
        esac
    fi
}
_popvision_enable
