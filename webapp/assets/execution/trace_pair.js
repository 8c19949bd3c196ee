/* Two traces above each other: source and target of a comparison. Linked, they show the same cycles at the same scale (the
   longer one sets the scale); a step selected in one is selected in the other when it is matched.

   URL of the target: tfrom, tto while not linked; tstep = a step of the target without a partner in the source. */
(function () {
  "use strict";
  const ex = ((window.popvision = window.popvision || {}).execution = window.popvision.execution || {});

  ex.keysOf = (role) => (role === "source" ? { from: "from", to: "to" } : { from: "tfrom", to: "tto" });

  /* Loaded after trace.js: files come in the order of their names. */
  class PairedTrace extends ex.Marking(ex.Trace) {
    get peer() {
      const peer = this.isSource ? ex.target : ex.current;
      return peer && peer !== this && !peer.stopped ? peer : null;
    }

    /* Where the other trace is: both have one scale, that of the longer report. */
    link(linked) {
      this.linked = linked;
      const total = linked && this.facts.both ? Math.max(this.facts.total, this.facts.both) : this.facts.total;
      if (total === this.viewport.total) return;
      const fit = this.viewport.isFit;
      this.viewport.total = Math.max(1, total);
      if (fit || !this.viewport.width) {
        if (this.viewport.width) this.viewport.fit();
      } else this.viewport.zoom(1, 0);
    }

    /* Linked: the other one follows at once, and the source tells the page for both. */
    leadPeer() {
      const { peer } = this;
      if (!peer || !this.linked) return;
      peer.viewport.pitch = peer.viewport.bound(this.viewport.pitch);
      peer.viewport.first = this.viewport.first;
      peer.viewport.keepInside();
      peer.movedAt = this.movedAt;
      peer.schedule();
    }

    move(from, to) {
      if (!this.isSource && this.linked) {
        const selection = window.popvision.selection();
        super.move(selection.from, selection.to);
        this.published.from = this.published.to = undefined;
      } else super.move(from, to);
    }

    publish() {
      if (this.isSource || !this.linked) super.publish();
      else if (this.peer) this.peer.publish();
    }

    apply(selection) {
      if (!this.isSource && selection.link !== "0") {
        const seen = (selection.from || "") + "-" + (selection.to || "");
        if (seen !== this.seen) {
          this.seen = seen;
          this.published.from = null;
        }
      }
      super.apply(selection);
    }

    /* The step to outline: the source's own, in the target its partner or the target's own. */
    async pickFrom(selection, reveal) {
      if (this.isSource) {
        this.pick(selection.step === undefined ? null : Number(selection.step), reveal && !this.facts.both);
        return;
      }
      if (selection.tstep !== undefined) {
        this.pick(Number(selection.tstep), false);
        return;
      }
      const wanted = selection.step;
      const step = wanted === undefined ? null : await this.partner(Number(wanted), "source");
      if (this.stopped || window.popvision.selection().step !== wanted) return;
      this.pick(step, false);
      if (wanted !== undefined && step === null && !this.cursor.at)
        this.spoken.textContent = "this step has no partner in the target";
    }

    /* The partner of a step: of the source's in the target, or the other way; null when it has none. */
    async partner(step, side) {
      const { facts } = this;
      try {
        const found = await ex.getJson(
          `/data/${facts.pair[0]}/execution/partner?vs=${facts.pair[1]}&step=${step}&side=${side}`,
        );
        return found.step === undefined ? null : found.step;
      } catch (problem) {
        ex.complain(problem);
        return null;
      }
    }

    async selectPartner(step, ipu) {
      const found = await this.partner(step, "target");
      const on = this.ipu === null && ipu ? ipu : null;
      window.popvision.select(
        found === null ? { tstep: step, step: null, on, sel: null } : { step: found, tstep: null, on, sel: null },
      );
    }
  }

  /* Traces begin when their elements appear and stop when they go. */
  function look() {
    for (const role of ["current", "target"]) {
      const host = document.querySelector(
        role === "current" ? '[data-trace][data-role="source"]' : '[data-trace][data-role="target"]',
      );
      if (ex[role] && ex[role].host !== host) {
        ex[role].stop();
        ex[role] = null;
      }
      if (host && !ex[role]) ex[role] = new PairedTrace(host);
    }
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
})();
