// @ts-check
/* Graph of operations: boxes and arrows placed by the server (webapp/graph_analyser/operations/routes.py), as SVG
   that zooms and moves. The visible part stands in the URL as ops_zoom = scale,left,top. Boxes are buttons; arrow
   keys go to the nearest box. */
(() => {
  "use strict";
  const NS = "http://www.w3.org/2000/svg";
  const LETTERS = 24;
  const MOST = 4,
    LEAST = 0.05;

  function make(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    if (parent) parent.appendChild(made);
    return made;
  }

  /* Cut the middle of a name: its end tells operations apart, its beginning says where they are. */
  function cut(text, most) {
    if (text.length <= most) return text;
    const tail = Math.ceil(most * 0.6);
    return text.slice(0, most - tail - 1) + "…" + text.slice(-tail);
  }

  function path(edge, [width, height]) {
    const points = edge.points.map((each) => each.slice());
    const last = points.length - 1;
    if (edge.back) {
      const [from, to] = [points[0], points[last]];
      const out = Math.max(from[0], to[0]) + width / 2 + 34 + Math.abs(from[1] - to[1]) / 12;
      return `M${from[0] + width / 2},${from[1]} C${out},${from[1]} ${out},${to[1]} ${to[0] + width / 2 + 5},${to[1]}`;
    }
    points[0][1] += height / 2;
    points[last][1] -= height / 2 + 5;
    let drawn = `M${points[0][0]},${points[0][1]}`;
    for (let at = 1; at <= last; at += 1) {
      const [a, b] = [points[at - 1], points[at]];
      const middle = (a[1] + b[1]) / 2;
      drawn += ` C${a[0]},${middle} ${b[0]},${middle} ${b[0]},${b[1]}`;
    }
    return drawn;
  }

  function spoken(node) {
    const kind =
      {
        rest: "not attributed",
        outside: "left out",
        more: "operations without a box of their own",
        input: "variable made elsewhere",
      }[node.kind] || node.kind;
    return `${node.name}, ${kind}${node.detail ? ", " + node.detail : ""}`;
  }

  class Graph {
    constructor(host, data) {
      this.host = host;
      this.data = data;
      this.svg = make("svg", { class: "ops-svg", role: "presentation" });
      const defs = make("defs", {}, this.svg);
      for (const name of ["arrow", "arrow-near"]) {
        const marker = make(
          "marker",
          {
            id: `ops-${name}`,
            class: name,
            viewBox: "0 0 8 8",
            refX: 5,
            refY: 4,
            markerWidth: 8,
            markerHeight: 8,
            markerUnits: "userSpaceOnUse",
            orient: "auto",
          },
          defs,
        );
        make("path", { d: "M0,0.5 L8,4 L0,7.5 z" }, marker);
      }
      this.scene = make("g", {}, this.svg);
      this.edges = data.edges.map((edge) => this.edge(edge));
      this.nodes = data.nodes.map((node, at) => this.node(node, at));
      host.appendChild(this.svg);
      this.current = 0;
      this.look();
      this.follow(popvision.selection());
    }

    edge(edge) {
      const line = make(
        "path",
        {
          d: path(edge, this.data.box),
          class: "ops-edge" + (edge.back ? " back" : ""),
          "marker-end": "url(#ops-arrow)",
          "stroke-width": Math.max(1, Math.min(5, Math.log10(edge.bytes + 1) - 2)),
        },
        this.scene,
      );
      make("title", {}, line).textContent =
        `${this.data.nodes[edge.source].name} → ${this.data.nodes[edge.target].name}: ${edge.text}`;
      return line;
    }

    node(node, at) {
      const [width, height] = this.data.box;
      const group = make(
        "g",
        {
          class: `ops-node ops-${node.kind}${node.found === false ? " unfound" : ""}`,
          role: "button",
          tabindex: at ? -1 : 0,
          "aria-label": spoken(node),
          transform: `translate(${node.x - width / 2},${node.y - height / 2})`,
          "data-at": at,
        },
        this.scene,
      );
      make("title", {}, group).textContent = spoken(node);
      make(
        "rect",
        {
          width,
          height,
          rx: node.kind === "program" ? 12 : ["variable", "input"].includes(node.kind) ? 0 : 6,
          class: "ops-box" + (node.type ? " type-" + node.type : ""),
        },
        group,
      );
      if (node.share)
        make(
          "rect",
          {
            x: 1,
            y: height - 4,
            height: 3,
            width: Math.max(1, (width - 2) * Math.min(1, node.share)),
            class: "ops-share",
          },
          group,
        );
      make("text", { x: width / 2, y: 19, class: "ops-name" }, group).textContent = cut(
        node.short || node.name,
        LETTERS,
      );
      make("text", { x: width / 2, y: 34, class: "ops-detail" }, group).textContent = cut(node.detail, LETTERS + 8);
      return group;
    }

    /* ---- the visible part ---- */

    fit() {
      const box = this.host.getBoundingClientRect();
      const scale = Math.min(1.4, (box.width - 16) / this.data.width, (box.height - 16) / this.data.height);
      const readable =
        scale >= 0.62 ? scale : Math.max(scale, Math.min(0.78, (box.width - 16) / this.data.width), LEAST);
      return [
        readable,
        (box.width - this.data.width * readable) / 2,
        Math.max(8, (box.height - this.data.height * readable) / 2),
      ];
    }

    look() {
      const parts = (popvision.selection().ops_zoom || "").split(",").map(Number);
      const known = parts.length === 3 && parts.every(Number.isFinite) && parts[0] >= LEAST && parts[0] <= MOST;
      this.view = known ? parts : this.fit();
      this.draw();
    }

    draw() {
      const [scale, left, top] = this.view;
      this.scene.setAttribute("transform", `translate(${left},${top}) scale(${scale})`);
    }

    moved(view) {
      this.view = view;
      this.draw();
      window.clearTimeout(this.timer);
      const where = window.location.pathname;
      this.timer = window.setTimeout(() => {
        if (this.host.isConnected && window.location.pathname === where)
          popvision.select({
            ops_zoom: [view[0].toFixed(3), Math.round(view[1]), Math.round(view[2])].join(","),
          });
      }, 250);
    }

    zoom(by, x, y) {
      const box = this.host.getBoundingClientRect();
      const [px, py] = [x === undefined ? box.width / 2 : x, y === undefined ? box.height / 2 : y];
      const [scale, left, top] = this.view;
      const next = Math.max(LEAST, Math.min(MOST, scale * by));
      this.moved([next, px - ((px - left) * next) / scale, py - ((py - top) * next) / scale]);
    }

    pan(x, y) {
      this.moved([this.view[0], this.view[1] + x, this.view[2] + y]);
    }

    reset() {
      this.view = this.fit();
      this.draw();
      window.clearTimeout(this.timer);
      popvision.select({ ops_zoom: null });
    }

    /* ---- choosing ---- */

    focus(at) {
      this.nodes[this.current].setAttribute("tabindex", -1);
      this.current = at;
      this.nodes[at].setAttribute("tabindex", 0);
      this.nodes[at].focus({ preventScroll: true });
      const { x, y } = this.data.nodes[at];
      const [scale, left, top] = this.view;
      const box = this.host.getBoundingClientRect();
      const [px, py] = [x * scale + left, y * scale + top];
      const margin = 60;
      const dx = px < margin ? margin - px : px > box.width - margin ? box.width - margin - px : 0;
      const dy = py < margin ? margin - py : py > box.height - margin ? box.height - margin - py : 0;
      if (dx || dy) this.pan(dx, dy);
    }

    /* The nearest box in a direction; distance to the side counts twice. */
    step(dx, dy) {
      const here = this.data.nodes[this.current];
      let best = -1,
        least = Infinity;
      this.data.nodes.forEach((node, at) => {
        const along = (node.x - here.x) * dx + (node.y - here.y) * dy;
        const aside = Math.abs((node.x - here.x) * dy) + Math.abs((node.y - here.y) * dx);
        if (along > 1 && along + 2 * aside < least) {
          least = along + 2 * aside;
          best = at;
        }
      });
      if (best >= 0) this.focus(best);
    }

    choose(at) {
      const node = this.data.nodes[at];
      if (node.program >= 0) popvision.select({ program: node.program });
      else if (node.variable >= 0) popvision.select({ variable: node.variable });
      else if (node.kind === "operation" || node.kind === "group" || node.kind === "rest")
        popvision.operations.choose(node.context, node.name);
    }

    near(at) {
      this.edges.forEach((line, index) => {
        const edge = this.data.edges[index];
        const touches = at !== null && (edge.source === at || edge.target === at);
        line.classList.toggle("near", touches);
        line.setAttribute("marker-end", touches ? "url(#ops-arrow-near)" : "url(#ops-arrow)");
      });
      this.scene.classList.toggle("some-near", at !== null);
    }

    follow(selection) {
      this.nodes.forEach((group, at) => {
        const node = this.data.nodes[at];
        const is =
          node.program >= 0
            ? selection.program === String(node.program)
            : node.variable >= 0
              ? selection.variable === String(node.variable)
              : node.context >= 0 && selection.ops_at
                ? selection.ops_at === String(node.context)
                : ["operation", "group", "rest"].includes(node.kind) && selection.ops_name === node.name;
        group.classList.toggle("chosen", is);
        group.setAttribute("aria-pressed", is ? "true" : "false");
      });
    }
  }

  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  function keys(graph, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (step) graph.step(...step);
    else if (event.key === "Enter" || event.key === " ") graph.choose(graph.current);
    else if (event.key === "+" || event.key === "=" || event.key === "w") graph.zoom(1.25);
    else if (event.key === "-" || event.key === "s") graph.zoom(0.8);
    else if (event.key === "a") graph.pan(80, 0);
    else if (event.key === "d") graph.pan(-80, 0);
    else if (event.key === "PageUp") graph.pan(0, 200);
    else if (event.key === "PageDown") graph.pan(0, -200);
    else if (event.key === "0") graph.reset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function pointers(graph) {
    const host = graph.host;
    const at = (event) => {
      const box = popvision.closest(event, "[data-at]");
      return box ? Number(box.dataset.at) : null;
    };
    let drag = null;
    host.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const box = host.getBoundingClientRect();
        graph.zoom(Math.pow(1.0015, -event.deltaY), event.clientX - box.left, event.clientY - box.top);
      },
      { passive: false },
    );
    host.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, far: false };
    });
    host.addEventListener("pointermove", (event) => {
      if (!drag || !event.buttons) {
        graph.near(at(event));
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.far && Math.hypot(dx, dy) < 4) return;
      drag = { x: event.clientX, y: event.clientY, far: true };
      graph.pan(dx, dy);
    });
    host.addEventListener("click", (event) => {
      const far = drag && drag.far;
      drag = null;
      if (far || at(event) === null) return;
      graph.focus(at(event));
      graph.choose(at(event));
    });
    host.addEventListener("dblclick", (event) => {
      if (at(event) !== null && graph.data.nodes[at(event)].program < 0) popvision.operations.open();
    });
    host.addEventListener("focusin", (event) => {
      if (at(event) !== null) {
        graph.current = at(event);
        graph.near(at(event));
      }
    });
    host.addEventListener("focusout", () => graph.near(null));
    host.addEventListener("keydown", (event) => keys(graph, event));
  }

  async function show(host) {
    const note = host.parentElement.querySelector(".ops-graph-note");
    const answer = await fetch(host.dataset.opsGraph, { headers: { Accept: "application/json" } });
    if (!answer.ok) {
      host.textContent = await answer.text();
      host.classList.add("ops-said");
      return null;
    }
    const data = await answer.json();
    if (!host.isConnected) return null;
    if (!data.nodes.length) {
      host.textContent = "There is nothing to draw: no operation touches a variable.";
      host.classList.add("ops-said");
      return null;
    }
    if (note && data.note) note.textContent = data.note;
    const graph = new Graph(host, data);
    pointers(graph);
    return graph;
  }

  popvision.mount(".ops-graph", (host) => {
    let graph = null;
    show(host).then((made) => {
      graph = made;
    });
    const click = (event) => {
      const button = popvision.closest(event, "[data-ops-zoom]");
      if (!button || !graph) return;
      if (button.dataset.opsZoom === "fit") graph.reset();
      else graph.zoom(button.dataset.opsZoom === "in" ? 1.25 : 0.8);
    };
    host.parentElement.addEventListener("click", click);
    const unfollow = popvision.onSelect((selection) => {
      if (graph) graph.follow(selection);
    });
    return unfollow;
  });
})();
