// @ts-check
/* Answers of the server: packed (webapp/base/packed.py: a JSON header, then typed arrays that are views of the reply,
   without a copy) or JSON. Both reject with the server's sentence.

   fetchPacked(path, query?)   resolves to {header, arrays}; query values that are null are left out
   fetchJson(path, query?)
   retryPause()                resolves after the pause that follows a failed request
*/

const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };
const RETRY = 2000; /* ms */

/**
 * @param {ArrayBuffer} buffer
 * @returns {Packed}
 */
function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  /** @type {Packed["arrays"]} */
  const arrays = {};
  for (const [name, type, offset, count] of header.arrays) {
    const Type = TYPES[/** @type {keyof typeof TYPES} */ (type)];
    arrays[name] = new Type(buffer, offset, count);
  }
  return { header, arrays };
}

/**
 * @param {string} path
 * @param {Query} [query]
 */
async function answer(path, query) {
  const pairs = Object.entries(query || {})
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => name + "=" + encodeURIComponent(String(value)));
  const address = pairs.length ? path + "?" + pairs.join("&").replaceAll("%2C", ",") : path;
  const reply = await fetch(address);
  if (!reply.ok) {
    const problem = new Error((await reply.text()) || "the server answered " + reply.status);
    throw Object.assign(problem, { status: reply.status });
  }
  return reply;
}

/**
 * @param {string} path
 * @param {Query} [query]
 */
const fetchPacked = async (path, query) => decode(await (await answer(path, query)).arrayBuffer());

/**
 * @param {string} path
 * @param {Query} [query]
 * @returns {Promise<any>}
 */
const fetchJson = async (path, query) => (await answer(path, query)).json();

const retryPause = () => new Promise((done) => window.setTimeout(done, RETRY));

export { fetchPacked, fetchJson, retryPause };
