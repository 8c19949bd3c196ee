// @ts-check
/* Answers of the binary routes (webapp/packed.py): a JSON header and typed arrays that are views of the reply, nothing parsed.

   popvision.execution.get(address) -> Promise of {header, arrays}; rejects with the server's sentence. */
const executionPacked = (() => {
  "use strict";
  const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };

  function decode(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const arrays = {};
    for (const [name, type, offset, count] of header.arrays) arrays[name] = new TYPES[type](buffer, offset, count);
    return { header, arrays };
  }

  async function answer(address) {
    const reply = await fetch(address);
    if (!reply.ok) throw new Error((await reply.text()) || "the server answered " + reply.status);
    return reply;
  }

  const get = async (address) => decode(await (await answer(address)).arrayBuffer());
  const getJson = async (address) => (await answer(address)).json();

  /* Show a sentence in the notice bar of the page. */
  const complain = (problem) =>
    window.dash_clientside.set_props("notice", { children: "Execution trace: " + problem.message });

  return { decode, get, getJson, complain };
})();
Object.assign(popvision.execution, executionPacked);
