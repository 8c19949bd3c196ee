"""Takes the pictures of the documentation: `make pictures`, or `python docs/pictures.py NAME ...`.

Each picture shows one address in headless Chromium, 1400 x 860 or the size it names; those named `...-after` stand
beside a picture `...-before` that an earlier version took. An address carries the whole state of its page. The reports
are those of sample_reports/; those of docs/tutorial.md, of ranks, of a sweep and of a live trace are made first, and a
program is watched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, ViewportSize, sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from popvision.sweep import read_sweep, run_sweep  # noqa: E402
from tests.analysis.ranks.rank_program import run_rank  # noqa: E402
from tests.browser.visit_pages import CHROMIUM, serve  # noqa: E402
from tests.watch.watch_command import watching  # noqa: E402

IMAGES = HERE / "images"
#: The hints of a first visit were read.
HINTS_READ = "for (const name of ['trace', 'timeline']) localStorage.setItem('popvision.hint.' + name, 'read')"
SMALL, MEDIUM = (1000, 620), (1200, 860)


#: Host traces of sample_reports, and the one that is written while its picture is taken.
HOST, MLP, LIVE = "host_trace.pvti", "train_mlp.pvti", "live.pvti"

#: Traces of programs that run at once, named like those of the hosts of one run.
HOSTS = ("host-0.pvti", "host-1.pvti")


@dataclass(frozen=True)
class Picture:
    """`report` is a folder of sample_reports, a key of TUTORIAL, a rank of the run of RANKS, or the host traces of a
    timeline, such as "a.pvti+b.pvti@first"; "" is the page `view` of the site, its first page without one; `against` is
    what it is compared with; `click` names the selectors to press, in order; at last the pointer rests at `point`, in
    pixels of the page."""

    report: str
    view: str
    state: dict[str, str]
    theme: str = "light"
    against: str = ""
    click: tuple[str, ...] = ()
    size: tuple[int, int] = (1400, 860)
    point: tuple[int, int] | None = None


_LONGEST_STEPS = (
    "select step, type, name, step_cycles, tile_balance, program\n"
    "from execution_steps\norder by step_cycles desc\nlimit 50"
)

PICTURES: dict[str, Picture] = {
    "overview": Picture("train_mlp", "overview", {}),
    "summary": Picture("train_mlp", "summary", {}),
    "summary-compare": Picture("train_mlp", "summary", {}, against="train_mlp_wide"),
    "memory": Picture("matmul_chain", "memory", {"tiles": "0,700", "mem_by": "category"}),
    "liveness": Picture("matmul_chain", "liveness", {"liveness": "18"}),
    "program-tree": Picture("train_mlp", "program_tree", {"program": "40"}, "dark"),
    "execution": Picture("matmul_chain", "execution", {}),
    "exchange": Picture("matmul_chain", "exchange", {"program": "20"}),
    "operations": Picture("train_mlp", "operations", {"ops_group": "1", "ops_name": "layer1"}),
    "operations-graph": Picture("train_mlp", "operations", {"ops_view": "graph", "ops_group": "1"}, "dark"),
    "source": Picture("train_mlp", "source", {}),
    "sql": Picture("train_mlp", "sql", {"sql": _LONGEST_STEPS, "sql_plot": "1"}),
    "trace-phases-after": Picture("train_mlp", "execution", {}, size=SMALL),
    "flame-after": Picture("matmul_chain", "execution", {}, size=SMALL),
    "step-figures-after": Picture("train_mlp", "execution", {"detail": "aggregate", "step": "40"}, size=SMALL),
    "memory-gaps-after": Picture("matmul_chain", "memory", {}, size=SMALL),
    "out-of-memory-after": Picture("out_of_memory", "execution", {}, size=SMALL),
    "timeline": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_event": "0.1.2"}, size=SMALL),
    "timeline-heat": Picture(HOST, "timeline", {"tl_bins": "used", "tl_line": "area", "tl_fold": "t0"}, size=MEDIUM),
    "timeline-start": Picture("", "", {}),
    "timeline-pins": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_pin": "t1,g0"}, size=MEDIUM),
    "timeline-merged": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_merge": "1"}, "dark", size=SMALL),
    "timeline-channels": Picture(MLP, "timeline", {"tl_fold": "graphs"}, click=(".tl-key > summary",), size=MEDIUM),
    "timeline-options": Picture(
        HOST, "timeline", {"tl_fold": "h0"}, click=(".timeline .options > summary",), size=SMALL
    ),
    "timeline-zoomed": Picture(
        HOST,
        "timeline",
        {"tl_fold": "h0", "tl_clock": "absolute", "tl_from": "15000000", "tl_to": "20000000"},
        size=SMALL,
        point=(600, 348),
    ),
    "timeline-window": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_sel": "31395600-46952100"}, "dark", size=MEDIUM),
    "timeline-instant": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_event": "0.i.2"}, size=SMALL),
    "timeline-cursor": Picture(HOST, "timeline", {"tl_fold": "h0,t0"}, "dark", size=MEDIUM, point=(700, 430)),
    "timeline-calls": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_tab": "calls", "tl_event": "0.1.2"}, size=MEDIUM),
    "timeline-highlight": Picture(
        HOST,
        "timeline",
        {"tl_fold": "h0", "tl_tab": "statistics"},
        click=('#tl-tab-statistics .ag-row:has-text("wait for batch") [col-id="label"]',),
        size=MEDIUM,
        point=(20, 20),
    ),
    "timeline-search": Picture(
        HOST, "timeline", {"tl_fold": "h0", "tl_tab": "matches", "tl_find": "/batch|step/ dur>380us"}, size=MEDIUM
    ),
    "timeline-statistics": Picture(HOST, "timeline", {"tl_fold": "h0", "tl_tab": "statistics"}, "dark", size=MEDIUM),
    "timeline-aggregated": Picture(HOST, "timeline", {"tl_fold": "h0,graphs", "tl_flame": "paths"}, size=SMALL),
    "timeline-callers": Picture(
        HOST, "timeline", {"tl_fold": "h0,graphs", "tl_flame": "callers", "tl_up": "1"}, "dark", size=SMALL
    ),
    "timeline-live": Picture(LIVE, "timeline", {"tl_fold": "h0"}, size=MEDIUM),
    "timeline-flame": Picture(MLP, "timeline", {"tl_tab": "flame", "tl_fold": "graphs"}, size=SMALL),
    "timeline-occurrences": Picture(
        HOST, "timeline", {"tl_fold": "h0", "tl_tab": "occurrences", "tl_find": "step"}, size=MEDIUM
    ),
    "timeline-marks": Picture(
        HOST, "timeline", {"tl_fold": "h0", "tl_marks": "16648400,31395600,46952100"}, size=MEDIUM
    ),
    "timeline-device": Picture(
        MLP,
        "timeline",
        {"tl_from": "386000000", "tl_to": "388500000", "tl_tab": "device", "tl_fold": "graphs"},
        size=MEDIUM,
    ),
    "timeline-activity": Picture(MLP, "timeline", {"tl_event": "0.1.5"}, "dark", size=MEDIUM),
    "timeline-files": Picture(
        f"{HOST}+{MLP}@first", "timeline", {"tl_fold": "h0"}, click=(".tl-files > summary",), size=SMALL
    ),
    "timeline-hosts": Picture(
        "+".join(HOSTS),
        "timeline",
        {"tl_fold": "heatmaps,graphs,f1heatmaps,f1graphs", "tl_clock": "absolute"},
        size=MEDIUM,
    ),
    "timeline-flows": Picture(
        "flows.pvti",
        "timeline",
        {"tl_find": "getitem", "tl_fold": "h0,graphs"},
        click=("[data-action=timeline-next]",) * 3,
        size=MEDIUM,
    ),
    "timeline-difference": Picture(
        HOST, "timeline", {"tl_fold": "h0", "tl_tab": "difference"}, against=MLP, size=MEDIUM
    ),
    "what-changed-after": Picture("matmul_chain", "summary", {}, against="matmul_chain_hardware", size=SMALL),
    "names-after": Picture("train_mlp", "program_tree", {"program": "40"}, size=SMALL),
    "source-narrow-after": Picture("train_mlp", "source", {"src_line": "80"}, size=SMALL),
    "liveness-time-after": Picture("train_mlp", "liveness", {"live_graph": "time"}, size=SMALL),
    "exchange-equal-after": Picture("matmul_chain", "exchange", {}, against="matmul_chain", size=SMALL),
    "variables-after": Picture("train_mlp", "memory", {"mem_graph": "variables"}, size=SMALL),
    "roofline-after": Picture(
        "train_mlp", "operations", {"ops_view": "roofline", "ops_name": "layer1/fwd"}, size=SMALL
    ),
    "first-page-after": Picture("", "", {}, size=MEDIUM),
    "shortcuts-after": Picture(MLP, "timeline", {}, click=("[data-action=nav-shortcuts]",)),
    "operations-shares-after": Picture("train_mlp", "operations", {}, size=SMALL),
    "operations-text-after": Picture("train_mlp", "operations", {"ops_view": "graph"}, size=SMALL),
    "step-links-after": Picture("train_mlp", "execution", {"detail": "details", "step": "41"}, size=SMALL),
    "ranks": Picture("rank_2", "ranks", {}, size=MEDIUM),
    "catalogue": Picture(
        "",
        "catalogue",
        {"cat_x": "peak_used", "cat_y": "cycles", "cat_y2": "compute_share", "cat_where": "cycles < 1e8"},
        size=MEDIUM,
    ),
    "what_if": Picture("", "what-if", {}, size=MEDIUM),
    "watch": Picture("", "watch", {}),
    "tutorial-summary": Picture("before", "summary", {}),
    "tutorial-execution": Picture("before", "execution", {}),
    "tutorial-source": Picture("before", "source", {}),
    "tutorial-after": Picture("after", "execution", {}),
    "tutorial-compare": Picture("before", "summary", {}, against="after"),
}

#: Folder of a report of docs/tutorial.md -> the program and its arguments.
TUTORIAL: dict[str, list[str]] = {"before": ["row_norms.py"], "after": ["row_norms.py", "--spread"]}


#: From what each rank of a run counts down (tests/analysis/ranks/rank_program.py).
RANKS = (5, 6, 9, 5)


#: What the sweep of the picture "what_if" keeps of examples/what_if.toml: one memory and one width of exchange.
ONE_MEMORY = {"constants.memoryBytesPerTile": [131_072], "constants.exchangeBytesPerCycle": [4]}


#: examples/host_trace.py with another number of epochs and longer steps.
_SLOW_PROGRAM = """
import sys
import time
sys.argv[0] = "host_trace.py"
from examples import host_trace
step, host_trace.EPOCHS = host_trace.step, {epochs}
host_trace.step = lambda *batch: (time.sleep({seconds}), step(*batch))[1]
host_trace.main()
"""

#: It runs until it is ended.
LIVE_PROGRAM = _SLOW_PROGRAM.format(epochs=10_000, seconds=0.01)

#: Programs that are started together run at once.
HOST_PROGRAM = _SLOW_PROGRAM.format(epochs=6, seconds=0.003)

#: The versions of examples/train_mlp.py whose page is the picture "watch": values of its constant BATCH; the first is
#: pinned.
WATCHED_BATCHES = (64, 32, 96)

#: The line of the watched program that is uppermost but a few.
WATCHED_LINE = 75


def main(names: list[str]) -> None:
    """Take the pictures named, all of them by default."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports"
        shutil.copytree(HERE.parent / "sample_reports", reports, ignore=shutil.ignore_patterns("*.py", "*.md"))
        for report, command in TUTORIAL.items():
            run_example(command, reports / report)
        for rank, number in enumerate(RANKS):
            run_rank(reports / "ranks", rank, len(RANKS), number)
        trace_example(reports / "flows")
        trace_hosts(reports / "hosts")
        chosen = names or list(PICTURES)
        take_all([name for name in chosen if name not in ("what_if", "timeline-live", "watch")], reports)
        if "what_if" in chosen:
            sweep = read_sweep(HERE.parent / "examples" / "what_if.toml")
            run_sweep(replace(sweep, grid=dict(sweep.grid) | ONE_MEMORY), Path(folder) / "what_if")
            take_all(["what_if"], Path(folder) / "what_if")
        if "timeline-live" in chosen:
            take_live(Path(folder) / "live")
        if "watch" in chosen:
            take_watch(Path(folder) / "watch")


def run_example(command: list[str], folder: Path) -> None:
    """Run a program of examples/ with every report on."""
    program, *arguments = command
    path = str(HERE.parent / "examples" / program)
    run = [sys.executable, "-m", "popvision", "run", "-d", str(folder), path, *arguments]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)


def trace_example(folder: Path) -> None:
    """Trace examples/host_trace.py in the file flows.pvti."""
    path = str(HERE.parent / "examples" / "host_trace.py")
    subprocess.run([sys.executable, path, str(folder)], check=True, stdout=subprocess.DEVNULL)
    (trace,) = folder.glob("*.pvti")
    trace.rename(folder / "flows.pvti")


def trace_hosts(folder: Path) -> None:
    """Trace a program for each of HOSTS, all at once."""
    folders = [folder / Path(name).stem for name in HOSTS]
    programs = [
        subprocess.Popen([sys.executable, "-c", HOST_PROGRAM, str(each)], cwd=HERE.parent, stdout=subprocess.DEVNULL)
        for each in folders
    ]
    for name, each, program in zip(HOSTS, folders, programs, strict=True):
        if program.wait():
            raise RuntimeError(f"the program that is traced as {name} ended with {program.returncode}.")
        (trace,) = each.glob("*.pvti")
        trace.rename(folder / name)


def take_live(folder: Path) -> None:
    """Take the picture of a timeline that follows examples/host_trace.py, which trains until it is ended here."""
    program = subprocess.Popen(
        [sys.executable, "-c", LIVE_PROGRAM, str(folder)], cwd=HERE.parent, stdout=subprocess.DEVNULL
    )
    try:
        while not list(folder.glob("*.pvti")):
            time.sleep(0.1)
        time.sleep(3)
        take_all(["timeline-live"], folder, follows=True)
    finally:
        program.kill()
        program.wait()


def take_watch(folder: Path) -> None:
    """Take the picture of the page of a watched program, after a save for each of WATCHED_BATCHES."""
    folder.mkdir()
    text, program = (HERE.parent / "examples" / "train_mlp.py").read_text(encoding="utf-8"), folder / "train_mlp.py"
    program.write_text(text, encoding="utf-8")
    picture = PICTURES["watch"]
    with watching(program, arguments=("--epochs", "1")) as watch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": picture.size[0], "height": picture.size[1]}, color_scheme="light")
        page.goto(watch.url)
        for number, batch in enumerate(WATCHED_BATCHES, 1):
            program.write_text(text.replace("BATCH, BATCHES = 16, 10, 64, 30", f"BATCH, BATCHES = 16, 10, {batch}, 30"))
            watch.version(number)
            page.wait_for_selector(f"#watch-note:has-text('Version {number}, ')", timeout=60_000)
            if number == 1:
                page.keyboard.press("p")
                page.wait_for_selector("#watch-pin:has-text('Pinned: version 1')")
        page.evaluate("(line) => document.querySelector('.code-scroll').scrollTo(0, 20 * (line - 6))", WATCHED_LINE)
        page.wait_for_timeout(1_000)
        page.screenshot(path=IMAGES / "watch.png")
        browser.close()
    print((IMAGES / "watch.png").relative_to(HERE.parent))


def take_all(names: list[str], reports: Path, *, follows: bool = False) -> None:
    """Serve the reports and take the pictures."""
    base, library = serve(reports, follows=follows)
    keys = {LIVE if follows else e.path.name: e.key for e in library.entries() if not e.is_sample}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names:
            picture = PICTURES[name]
            width, height = picture.size
            viewport: ViewportSize = {"width": width, "height": height}
            page = browser.new_page(viewport=viewport, color_scheme="dark" if picture.theme == "dark" else "light")
            page.add_init_script(HINTS_READ)
            take(page, base, keys, picture, IMAGES / f"{name}.png")
            page.close()
        browser.close()


def take(page: Page, base: str, keys: dict[str, str], picture: Picture, path: Path) -> None:
    """Open the address, press what is to be pressed, wait until the page is quiet."""
    state = picture.state | ({"vs": keys[picture.against]} if picture.against else {})
    names, at, alignment = picture.report.partition("@")
    place = "t/" if names.endswith(".pvti") else "r/"
    key = "+".join(keys[name] for name in names.split("+")) + at + alignment if names else ""
    page.goto(f"{base}/{f'{place}{key}/' if key else ''}{picture.view}?{urlencode(state)}")
    if picture.view in ("catalogue", "what-if"):
        page.wait_for_selector('.catalogue[data-state="complete"]', timeout=60_000)
    # A page that follows its trace asks again and again.
    page.wait_for_load_state("load" if picture.report == LIVE else "networkidle")
    page.wait_for_timeout(1_500)
    for selector in picture.click:
        page.click(selector)
        page.wait_for_timeout(1_000)
    if picture.point is not None:
        page.mouse.move(*picture.point)
        page.wait_for_timeout(1_000)
    page.screenshot(path=path, timeout=120_000)
    print(path.relative_to(HERE.parent))


if __name__ == "__main__":
    main(sys.argv[1:])
