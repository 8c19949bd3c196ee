// @ts-check
/* Source and target traces of a comparison, above each other. Linked, they show the same cycles at the same
   scale, that of the longer one. A step selected in one selects its match in the other.

   URL of the target: tfrom and tto while it is not linked; tstep is a step of the target that has no match in the
   source. */
import { fetchJson } from "../shared/packed.js";
import * as viewer from "../shell/viewer.js";
import { complain } from "./numbers.js";

/* The keys of the selection that hold a trace's window. */
const keysOf = (role) => (role === "source" ? { from: "from", to: "to" } : { from: "tfrom", to: "tto" });

/* Where the other trace is: both have one scale, that of the longer report. */
function linkScale(trace, linked) {
  trace.linked = linked;
  const total = linked && trace.facts.both ? Math.max(trace.facts.total, trace.facts.both) : trace.facts.total;
  if (total === trace.viewport.total) return;
  const fit = trace.viewport.isFit;
  trace.viewport.total = Math.max(1, total);
  if (fit || !trace.viewport.width) {
    if (trace.viewport.width) trace.viewport.fit();
  } else trace.viewport.zoom(1, 0);
}

/* Linked: the other one follows at once, and the source tells the page for both. */
function leadPeer(trace) {
  const peer = trace.peer;
  if (!peer || !trace.linked) return;
  peer.viewport.pitch = peer.viewport.bound(trace.viewport.pitch);
  peer.viewport.first = trace.viewport.first;
  peer.viewport.keepInside();
  peer.movedAt = trace.movedAt;
  peer.schedule();
}

/* The step to outline: the source's own, in the target its partner or the target's own. */
async function pickSelected(trace, selection, reveal) {
  if (trace.isSource) {
    trace.pick(selection.step === undefined ? null : Number(selection.step), reveal && !trace.facts.both);
    return;
  }
  if (selection.tstep !== undefined) {
    trace.pick(Number(selection.tstep), false);
    return;
  }
  const wanted = selection.step;
  const step = wanted === undefined ? null : await partnerOf(trace, Number(wanted), "source");
  if (trace.stopped || viewer.selection().step !== wanted) return;
  trace.pick(step, false);
  if (wanted !== undefined && step === null && !trace.cursor.at)
    trace.spoken.textContent = "this step has no match in the target";
}

/* The partner of a step: of the source's in the target, or the other way; null when it has none. */
async function partnerOf(trace, step, side) {
  const { facts } = trace;
  try {
    const partner = await fetchJson(
      `/data/${facts.pair[0]}/execution/partner?vs=${facts.pair[1]}&step=${step}&side=${side}`,
    );
    return partner.step === undefined ? null : partner.step;
  } catch (problem) {
    complain(problem);
    return null;
  }
}

async function selectPartner(trace, step, ipu) {
  const page = window.location.pathname;
  const partner = await partnerOf(trace, step, "target");
  if (window.location.pathname !== page) return;
  const on = trace.ipu === null && ipu ? ipu : null;
  viewer.select(
    partner === null ? { tstep: step, step: null, on, sel: null } : { step: partner, tstep: null, on, sel: null },
  );
}

export { keysOf, linkScale, leadPeer, pickSelected, selectPartner };
