// @ts-check
/* Round positions on an axis: steps of 1, 2 or 5 times a power of ten. */

const CLOSE = 1e-9; /* steps: a window that ends this near to a tick holds it */

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
  /* Twelve digits hide the error of the product; a step below the numbers' own precision must not go on for ever. */
  const end = Math.floor(last / step + CLOSE);
  for (let index = Math.ceil(first / step - CLOSE); index <= end && list.length <= 2 * most + 2; index += 1)
    list.push(Number((index * step).toPrecision(12)));
  return list;
}

export { roundStep, roundTicks };
