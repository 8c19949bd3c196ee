// @ts-check
/* The camera of a plot saves it as PNG, twice the size on screen, or as SVG. Where a canvas stands in the place of the
   plot ([data-saves=<id of the plot>], visible), that element's saveImage(kind, name) does it. */
import { token } from "../../shell/viewer.js";
import { closest } from "../dom.js";

/**
 * @param {any} graph a Plotly element
 * @param {string} kind
 * @param {string} name
 */
function savePlotly(graph, kind, name) {
  const ground = token("surface");
  const layout = Object.assign({}, graph.layout, { paper_bgcolor: ground, plot_bgcolor: ground });
  const size = { width: graph.clientWidth, height: graph.clientHeight, scale: kind === "png" ? 2 : 1 };
  window.Plotly.downloadImage({ data: graph.data, layout }, { format: kind, filename: name, ...size });
}

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-save-plot]");
  if (!button) return;
  const plot = button.dataset.savePlot;
  const kind = button.dataset.format || "png";
  const name = button.dataset.name || "plot";
  const canvas = document.querySelector(`[data-saves="${plot}"]:not([hidden])`);
  const graph = document.querySelector(`#${plot} .js-plotly-plot`);
  if (canvas && canvas.saveImage) canvas.saveImage(kind, name);
  else if (graph && window.Plotly) savePlotly(graph, kind, name);
  else return;
  const menu = button.closest("details");
  if (menu) menu.open = false;
});
