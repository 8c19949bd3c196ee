// @ts-check
/* Saves the rows of a small table from the values in their data-row (webapp/components/row_export.py). */
import { all, closest, download } from "./dom.js";
import { toCsv } from "./table.js";

/**
 * The values of the rows that are shown, in their order.
 *
 * @param {HTMLElement} box
 * @param {Record<string, string> | null} names of the values in the file; null keeps all under their own
 */
function rowsOf(box, names) {
  const rows = all("[data-row]", box).filter((row) => !row.hidden);
  return rows.map((row) => {
    /** @type {Record<string, unknown>} */
    const values = JSON.parse(row.dataset.row || "{}");
    if (!names) return values;
    return Object.fromEntries(Object.entries(names).map(([own, name]) => [name, values[own] ?? null]));
  });
}

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-export-rows]");
  const box = button && button.closest("[data-exported]");
  if (!button || !(box instanceof HTMLElement)) return;
  const kind = button.dataset.exportRows || "";
  const rows = rowsOf(box, button.dataset.names ? JSON.parse(button.dataset.names) : null);
  const text = kind === "csv" ? toCsv(rows) : JSON.stringify(rows, null, 1);
  download(
    new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }),
    button.dataset.saveAs + "." + kind,
  );
});
