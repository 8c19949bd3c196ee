// @ts-check
/* Round positions on an axis: steps of 1, 2 or 5 times a power of ten. */
const canvasTicks = (() => {
  "use strict";

  /**
   * The smallest round step that is not below `least`.
   *
   * @param {number} least
   */
  function roundStep(least) {
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    const factor = [1, 2, 5, 10].find((each) => each * power >= least * 0.999999);
    return power * (factor || 10);
  }

  /**
   * Round numbers in [first, last], at most about `most` of them.
   *
   * @param {number} first
   * @param {number} last
   * @param {number} most
   * @param {number} [finest] the step is never below it
   * @returns {number[]}
   */
  function roundTicks(first, last, most, finest = 0) {
    const step = roundStep(Math.max(finest, (last - first) / most || 1));
    const list = [];
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) list.push(Math.round(at * 1e6) / 1e6);
    return list;
  }

  return { roundStep, roundTicks };
})();
Object.assign(popvision.canvas, canvasTicks);
