/* The camera of a plot: saves it as PNG, twice the size on screen, or as SVG. Where a canvas stands in the place of the
   plot ([data-saves=<id of the plot>], visible), its own saveImage(kind, name) does it. */
(function () {
  "use strict";
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save-plot]");
    const instead = button && document.querySelector('[data-saves="' + button.dataset.savePlot + '"]:not([hidden])');
    if (instead) {
      instead.saveImage(button.dataset.format, button.dataset.name);
      button.closest("details").open = false;
      return;
    }
    const graph = button && document.querySelector("#" + button.dataset.savePlot + " .js-plotly-plot");
    if (!graph || !window.Plotly) return;
    const ground = window.popvision.token("surface");
    const layout = Object.assign({}, graph.layout, { paper_bgcolor: ground, plot_bgcolor: ground });
    const kind = button.dataset.format;
    window.Plotly.downloadImage(
      { data: graph.data, layout },
      {
        format: kind,
        filename: button.dataset.name,
        width: graph.clientWidth,
        height: graph.clientHeight,
        scale: kind === "png" ? 2 : 1,
      },
    );
    const menu = button.closest("details");
    if (menu) menu.open = false;
  });
})();
