// @ts-check
/* The Overview: buttons that fold findings away, names that are copied whole, and where a row of the waits leads. None
   asks the server. */
import { all, closest } from "../shared/dom.js";
import { select, selection } from "../shell/viewer.js";

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-dismiss]");
  if (!button) return;
  const key = button.getAttribute("data-dismiss") || "";
  const others = (selection().dismissed || "").split(",").filter((each) => each && each !== key);
  select({ dismissed: key ? [...others, key].join(",") : null });
});

/* A name that is cut in the middle is copied whole. */
document.addEventListener("copy", (event) => {
  const chosen = window.getSelection();
  if (!chosen || !chosen.rangeCount || !event.clipboardData) return;
  const copied = document.createElement("div");
  copied.append(chosen.getRangeAt(0).cloneContents());
  const names = all("[data-whole]", copied);
  if (!names.length) return;
  for (const name of names) name.textContent = name.dataset.whole || "";
  event.clipboardData.setData("text/plain", copied.textContent || "");
  event.preventDefault();
});

/** @param {number} count */
const integer = (count) => count.toLocaleString("en-US");

/**
 * A link as a component of Dash.
 *
 * @param {string} text
 * @param {string} view
 * @param {Record<string, any>} query
 */
function link(text, view, query) {
  const report = window.location.pathname.split("/")[2];
  const href = `/r/${report}/${view}?${new URLSearchParams(query)}`;
  return { namespace: "dash_html_components", type: "A", props: { children: text, href, "data-nav": "to" } };
}

const callbacks = {
  /* Its first sync, its program and its tile. */
  /**
   * @param {any[] | undefined} rows
   * @param {any} shown
   */
  links: (rows, shown) => {
    const row = rows && rows[0];
    if (!row) return shown ? [] : window.dash_clientside.no_update;
    const { step, ipu, program, tile } = row;
    const links = [link(`sync, step ${integer(step)}`, "execution", { step, ipu, detail: "details" })];
    if (program !== null && program !== undefined)
      links.push(link(`program ${integer(program)}`, "program_tree", { program }));
    links.push(link(`tile ${integer(tile)}`, "memory", { tiles: tile }));
    return ["See ", ...links.flatMap((each, at) => (at ? [", ", each] : [each]))];
  },
};

export { callbacks };
