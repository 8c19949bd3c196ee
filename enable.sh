# Source me: puts the names of existing scripts (pva, libpvti, poptorch) on PYTHONPATH, gc-info and gc-monitor on PATH:
# their commands work literally. After `make cpp`, C++ programs find Poplar's headers and libraries too (docs/cpp.md).
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
    if [ -e "$here/build/cpp/lib/libpoplar.so" ]; then
        case ":${CPATH:-}:" in
            *":$here/native/include:"*) ;;
            *) export CPATH="$here/native/include:$here/simulator/codelets/include${CPATH:+:$CPATH}" ;;
        esac
        case ":${LIBRARY_PATH:-}:" in
            *":$here/build/cpp/lib:"*) ;;
            *) export LIBRARY_PATH="$here/build/cpp/lib${LIBRARY_PATH:+:$LIBRARY_PATH}" ;;
        esac
        case ":${LD_LIBRARY_PATH:-}:" in
            *":$here/build/cpp/lib:"*) ;;
            *) export LD_LIBRARY_PATH="$here/build/cpp/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
        esac
        case ":${CMAKE_PREFIX_PATH:-}:" in
            *":$here/build/cpp:"*) ;;
            *) export CMAKE_PREFIX_PATH="$here/build/cpp${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}" ;;
        esac
    elif [ -t 2 ]; then  # for the eyes of somebody who types; scripts and logs are left alone
        echo "enable.sh: for C++ programs, run 'make cpp' once, then source this file again." >&2
    fi
}
_popvision_enable
