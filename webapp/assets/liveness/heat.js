// @ts-check
/* Heat map of tile by liveness index (webapp/graph_analyser/liveness/routes.py). It shares window and keys of its
   index axis with the curve (assets/shared/plots).

   The plot's configuration says what it shows: heat = {key, tiles: [first, last], perIpu, always, capacity, vs,
   by}; null shows the curve. A cell is the maximum over its tiles and indices; a click selects the place of that
   maximum. With `vs`, the report compared with, a cell is the largest difference target - source. */
(() => {
  "use strict";
  const liveness = popvision.liveness;
  const plots = popvision.plots;
  const VIEW = "live_tiles";

  class HeatMap {
    constructor(host) {
      this.host = host;
      this.canvas = host.querySelector("canvas") || host.appendChild(document.createElement("canvas"));
      this.tip = host.appendChild(
        Object.assign(document.createElement("div"), { className: "heat-tip", hidden: true }),
      );
      /** @type {any} */
      this.answer = null;
      /** @type {any} */
      this.shown = null;
      this.asked = "";
      const again = () => this.update();
      this.stops = [popvision.onSelect(again)];
      for (const name of ["popvision:plot", "popvision:theme"]) {
        document.addEventListener(name, again);
        this.stops.push(() => document.removeEventListener(name, again));
      }
      this.size = new ResizeObserver(again);
      this.size.observe(host);
      this.stops.push(() => this.size.disconnect());
      liveness.listen(this);
      this.update();
    }

    get plot() {
      return plots.all[this.host.dataset.plot];
    }
    get heat() {
      return this.plot && this.plot.heat;
    }
    get area() {
      return liveness.areaOf(this.host.clientWidth, this.host.clientHeight);
    }

    /* The visible tiles, both ends included. */
    get tiles() {
      const [first, last] = this.heat.tiles;
      const found = /^(\d+)-(\d+)$/.exec(popvision.selection()[VIEW] || "");
      const from = found ? Math.max(first, Math.min(parseInt(found[1], 10), last)) : first;
      return [from, found ? Math.max(from, Math.min(parseInt(found[2], 10), last)) : last];
    }

    setTiles(from, to) {
      const [first, last] = this.heat.tiles;
      const low = Math.max(first, Math.min(Math.round(from), last));
      const high = Math.max(low, Math.min(Math.round(to), last));
      popvision.select({ [VIEW]: low === first && high === last ? null : low + "-" + high });
    }

    get indices() {
      return plots.windowOf(this.plot);
    }

    get cursor() {
      const now = popvision.selection();
      const tile = parseInt(now.tiles, 10),
        index = parseInt(now.liveness, 10);
      return { tile: Number.isNaN(tile) ? null : tile, index: Number.isNaN(index) ? null : index };
    }

    get mark() {
      const mark = parseInt(popvision.selection()[this.plot.mark], 10);
      return Number.isNaN(mark) ? null : mark;
    }

    query(more) {
      const parts = Object.entries(more).map(([name, value]) => name + "=" + value);
      if (this.heat.always) parts.push("always=1");
      if (this.heat.capacity) parts.push("capacity=1");
      if (this.heat.vs) parts.push("vs=" + encodeURIComponent(this.heat.vs), "by=" + this.heat.by);
      return parts.join("&");
    }

    update() {
      if (!this.heat || !this.host.clientWidth) return;
      const [tiles, indices, area] = [this.tiles, this.indices, this.area];
      const rows = Math.max(1, Math.min(tiles[1] - tiles[0] + 1, Math.floor(area.height)));
      const columns = Math.max(
        1,
        Math.min(indices[1] - indices[0] + 1, Math.floor(area.width), Math.floor(400000 / rows)),
      );
      const address =
        "/data/" +
        this.heat.key +
        "/liveness/heat?" +
        this.query({ tiles: tiles.join("-"), indices: indices.join("-"), rows, columns });
      if (address !== this.asked) this.ask(address, { tiles, indices, vs: this.heat.vs });
      this.draw();
    }

    async ask(address, shown) {
      this.asked = address;
      try {
        const answer = await popvision.fetchPacked(address);
        if (address !== this.asked) return;
        Object.assign(this, { answer, shown, theme: null });
        this.host.dataset.stride = answer.header.indicesPerColumn;
        this.host.dataset.drawn = address;
        this.draw();
      } catch (problem) {
        if (address === this.asked) popvision.notice("Heat map: " + problem.message);
      }
    }

    map() {
      if (this.answer && this.theme !== popvision.theme()) {
        this.picture = liveness.pictureOf(this.answer, Boolean(this.shown.vs));
        this.theme = popvision.theme();
      }
      return {
        area: this.area,
        tiles: this.tiles,
        indices: this.indices,
        shown: this.shown,
        answer: this.answer,
        picture: this.picture,
        cursor: this.cursor,
        mark: this.mark,
        perIpu: this.heat.perIpu,
        always: this.heat.always,
        capacity: this.heat.capacity,
        compares: Boolean(this.shown && this.shown.vs),
      };
    }

    draw() {
      const [width, height] = [this.host.clientWidth, this.host.clientHeight];
      const ratio = window.devicePixelRatio || 1;
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
      }
      const draw = this.canvas.getContext("2d");
      draw.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw.clearRect(0, 0, width, height);
      liveness.paint(new liveness.CanvasPen(draw, popvision.token("font")), this.map(), liveness.colours());
    }

    /* Tile and index under a point of the canvas; null outside of the picture. */
    placeAt(x, y) {
      const { area, tiles, indices } = this;
      if (x < area.x || y < area.y || x >= area.x + area.width || y >= area.y + area.height) return null;
      return {
        tile: tiles[0] + Math.floor(((y - area.y) * (tiles[1] - tiles[0] + 1)) / area.height),
        index: indices[0] + Math.floor(((x - area.x) * (indices[1] - indices[0] + 1)) / area.width),
      };
    }

    /* The cell of the drawn picture that holds a place: {tiles, indices}, both ends included. */
    cellOf({ tile, index }) {
      const { tilesPerRow, indicesPerColumn } = this.answer.header;
      const part = (value, shown, size) => {
        const first = shown[0] + Math.floor((value - shown[0]) / size) * size;
        return [first, Math.min(first + size - 1, shown[1])];
      };
      return {
        tiles: part(tile, this.shown.tiles, tilesPerRow),
        indices: part(index, this.shown.indices, indicesPerColumn),
      };
    }

    async highest(cell) {
      const address =
        "/data/" +
        this.heat.key +
        "/liveness/cell?" +
        this.query({ tiles: cell.tiles.join("-"), indices: cell.indices.join("-") });
      return popvision.fetchJson(address);
    }

    /* The picture as PNG or SVG, with its axes and key, as it stands on the screen. */
    save(kind, name) {
      const [width, height] = [this.host.clientWidth, this.host.clientHeight];
      const give = (blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = name + "." + kind;
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      };
      const colours = liveness.colours();
      if (kind === "svg") {
        const pen = new liveness.SvgPen(width, height, popvision.token("font"));
        pen.box(0, 0, width, height, colours.surface);
        liveness.paint(pen, this.map(), colours);
        give(new Blob([String(pen)], { type: "image/svg+xml" }));
        return;
      }
      const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
      const draw = canvas.getContext("2d");
      draw.scale(2, 2);
      const pen = new liveness.CanvasPen(draw, popvision.token("font"));
      pen.box(0, 0, width, height, colours.surface);
      liveness.paint(pen, this.map(), colours);
      canvas.toBlob(give, "image/png");
    }

    stop() {
      this.stops.forEach((stop) => stop());
    }
  }

  popvision.mount("[data-live-heat]", (host) => {
    const map = new HeatMap(host);
    host.heatMap = map;
    host.saveImage = (kind, name) => map.save(kind, name + "-heat-map");
    return () => map.stop();
  });
})();
