// @ts-check
/* Notices that the report on the page has grown, was replaced or is gone: asks /data/<key>/state every few
   seconds while the page is visible (webapp/shell/shell_routes.py). A line offers to reload; with the preference
   "reload" at "always", or where the viewer follows its folders (popvision view --follow), that happens by itself,
   unless the user types or has a dialog open. The list of reports is then built again when entries come, go or
   change. */
import { part } from "../shared/dom.js";
import { isTyping } from "./commands.js";
import { preference, setPreference } from "./preferences.js";
import * as viewer from "./viewer.js";

const EVERY = 4000; /* ms */
let stamp = "";
/** @type {HTMLElement | null} */
let looked = null; /* the page that the stamp belongs to */
let dismissed = "";
let asking = false;

const shown = () => /** @type {HTMLElement | null} */ (document.querySelector("#page [data-report]"));

/**
 * @param {string} text
 * @param {string} className
 * @param {() => void} run
 */
function button(text, className, run) {
  const element = document.createElement("button");
  element.type = "button";
  element.className = className;
  element.textContent = text;
  element.addEventListener("click", run);
  return element;
}

/**
 * @param {string} text
 * @param {boolean} canReload
 */
function tell(text, canReload) {
  const box = part("#growth");
  const line = document.createElement("span");
  line.textContent = text;
  const parts = [line];
  if (canReload) {
    parts.push(button("Reload", "button", reload));
    parts.push(
      button("Always", "button", () => {
        setPreference("reload", "always");
        reload();
      }),
    );
    parts[2].title = "Reload reports automatically when they grow (Preferences changes it)";
  }
  const close = button("", "button icon-button", () => {
    dismissed = text;
    clear();
  });
  close.setAttribute("aria-label", "Dismiss");
  close.innerHTML = '<span class="icon icon-close" aria-hidden="true"></span>';
  parts.push(close);
  box.replaceChildren(...parts);
}

function clear() {
  const box = document.getElementById("growth");
  if (box) box.replaceChildren();
}

function reload() {
  clear();
  viewer.reload();
}

/**
 * @param {HTMLElement} view
 * @param {ReportState} state
 */
function sentence(view, state) {
  if (state.generation === null) return "The trace has grown.";
  if (state.identity !== view.dataset.identity) return "The report was replaced.";
  return "The report has grown (generation " + state.generation + ").";
}

/**
 * @param {HTMLElement} view
 * @param {ReportState} state
 */
function hasChanged(view, state) {
  if (state.generation === null) return looked === view;
  return String(state.generation) !== view.dataset.generation || state.identity !== view.dataset.identity;
}

/** @param {HTMLElement} view */
const isAutomatic = (view) => view.dataset.follows === "1" || preference("reload") === "always";

function isBusy() {
  return document.querySelector("dialog[open]") !== null || isTyping(document.activeElement);
}

/**
 * @param {HTMLElement} view
 * @param {ReportState} state
 */
function act(view, state) {
  if (view.querySelector("[data-live]")) {
    clear(); /* a timeline that follows its file shows what was added, and says what is missing, by itself */
    return;
  }
  if (state.problem) {
    if (dismissed !== state.problem) tell(state.problem, false);
    return;
  }
  if (!hasChanged(view, state)) {
    clear();
    return;
  }
  const text = sentence(view, state);
  if (isAutomatic(view) && !isBusy()) reload();
  else if (dismissed !== text) tell(text, true);
}

async function look() {
  const view = shown();
  if (!view || asking || document.visibilityState !== "visible") return;
  asking = true;
  try {
    const answer = await fetch(
      "/data/" + view.dataset.report + "/state?stamp=" + encodeURIComponent(view === looked ? stamp : ""),
    );
    const state = await answer.json();
    if (shown() !== view) return;
    if (view !== looked || state.stamp !== stamp) act(view, state);
    /* A reload that has to wait looks at the same state again. */
    if (!isAutomatic(view) || !isBusy() || !("generation" in state)) stamp = state.stamp;
    looked = view;
  } catch (_) {
    /* the server does not answer at the moment */
  } finally {
    asking = false;
  }
}

/* The list of reports: another list is built where something came, went or changed. */
async function lookAtList() {
  const list = /** @type {HTMLElement | null} */ (document.querySelector(".picker[data-look]"));
  if (!list || document.visibilityState !== "visible" || isBusy()) return;
  try {
    const { seen } = await (await fetch("/data/reports/look")).json();
    if (list.isConnected && seen !== list.dataset.look && !isBusy()) {
      list.dataset.look = seen;
      reload();
    }
  } catch (_) {
    /* the server does not answer at the moment */
  }
}

const lookAtAll = () => {
  look();
  lookAtList();
};
window.setInterval(lookAtAll, EVERY);
document.addEventListener("visibilitychange", lookAtAll);
/* A new page: notices of the page before go. */
viewer.mount("#page [data-report]", () => {
  dismissed = "";
  clear();
  return () => {};
});
