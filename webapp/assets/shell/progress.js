// @ts-check
/* Progress bar over a waiting part of the page. Every callback and binary request passes through window.fetch,
   which this script wraps; after a moment the part gets aria-busy, a bar and a sentence that is read out once.

   waiting() counts the parts that wait now. */

const MOMENT = 300; /* ms without any sign */
const SLOW = 1200; /* ms until words are added */
const plain = window.fetch.bind(window);
/** @type {Map<Element, PageWait>} */
const waits = new Map();

/**
 * The first visible output, else the first: one callback fills whichever tab is open.
 *
 * @param {string} output
 */
function first(output) {
  const ids = output
    .replace(/^\.\./, "")
    .replace(/\.\.$/, "")
    .split("...")
    .map((each) => each.replace(/\.[^.}]*$/, ""));
  const outputs = ids
    .map((id) => document.getElementById(id.startsWith("{") ? id : id.replace(/\\\./g, ".")))
    .filter((each) => each !== null);
  return outputs.find((each) => !each.closest("[role=tabpanel][hidden]")) || outputs[0] || null;
}

/**
 * The part of the page that waits for a request; null = nothing visible waits.
 *
 * @param {string} url
 * @param {RequestInit | undefined} options
 */
function areaOf(url, options) {
  if (/\/(state|reports)(\?|$)/.test(url)) return null;
  if (url.includes("/_dash-update-component")) {
    const match = /"output":"((?:[^"\\]|\\.)*)"/.exec(String(options && options.body));
    const element = match && first(JSON.parse('"' + match[1] + '"'));
    if (!element || element.id === "selection" || element.id === "done") return null;
    if (["nav", "masthead", "page"].includes(element.id)) return document.getElementById("page");
    return element.closest("[role=tabpanel], .split-pane, .plot-frame, .view") || element;
  }
  return /\/data\//.test(url) ? document.querySelector("#page .view") : null;
}

/** @param {Element} area */
function begin(area) {
  const wait = waits.get(area) || { count: 0, since: performance.now() };
  wait.count += 1;
  waits.set(area, wait);
  if (wait.count === 1) wait.timer = window.setTimeout(() => show(area, wait), MOMENT);
}

/** @param {Element} area */
function end(area) {
  const wait = waits.get(area);
  if (!wait || --wait.count > 0) return;
  window.clearTimeout(wait.timer);
  waits.delete(area);
  area.removeAttribute("aria-busy");
  for (const part of [wait.bar, wait.text]) if (part) part.remove();
  if (wait.bar && !waits.size) say("");
}

/**
 * @param {Element} area
 * @param {PageWait} wait
 */
function show(area, wait) {
  if (!area.isConnected) return;
  area.setAttribute("aria-busy", "true");
  const box = area.getBoundingClientRect();
  wait.bar = document.createElement("div");
  wait.bar.className = "progress";
  wait.bar.setAttribute("aria-hidden", "true");
  Object.assign(wait.bar.style, { left: box.left + "px", top: box.top + "px", width: box.width + "px" });
  document.body.append(wait.bar);
  say("Loading");
  wait.timer = window.setTimeout(() => tellTime(area, wait), SLOW - MOMENT);
}

/**
 * Show the seconds waited; no share of the work is known.
 *
 * @param {Element} area
 * @param {PageWait} wait
 */
function tellTime(area, wait) {
  if (!area.isConnected || !waits.has(area)) return;
  if (!wait.text) {
    const box = area.getBoundingClientRect();
    wait.text = document.createElement("div");
    wait.text.className = "progress-text";
    wait.text.setAttribute("aria-hidden", "true");
    Object.assign(wait.text.style, { left: box.left + box.width / 2 + "px", top: box.top + 12 + "px" });
    document.body.append(wait.text);
  }
  const seconds = Math.round((performance.now() - wait.since) / 1000);
  wait.text.textContent = "Loading \u2026 " + seconds + " s";
  wait.timer = window.setTimeout(() => tellTime(area, wait), 1000);
}

/** @param {string} text */
function say(text) {
  const place = document.getElementById("progress-status");
  if (place && place.textContent !== text) place.textContent = text;
}

/* What a trace that grows asks for by itself shows no sign; the event "popvision:renewed" says that it came. */
const isRenewal = (/** @type {RequestInit | undefined} */ options) =>
  options !== undefined && typeof options.body === "string" && options.body.includes('"renewal":"');

window.fetch = function (resource, options) {
  if (isRenewal(options))
    return plain(resource, options).finally(() => document.dispatchEvent(new CustomEvent("popvision:renewed")));
  const area = areaOf(resource instanceof Request ? resource.url : String(resource), options);
  if (!area) return plain(resource, options);
  begin(area);
  return plain(resource, options).finally(() => end(area));
};

const waiting = () => waits.size;

export { waiting };
