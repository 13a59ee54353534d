// A simulated Z-Wave stick on TCP, with the nodes of a file beside this one.
//
//   node stick.cjs PORT NODES.cjs
//
// Packages are looked up from the current folder. zwave-js's own mock takes each read for one frame of the serial port;
// TCP cuts where it likes, so frames are put together here first.

const { createRequire } = require("node:module")
const { join } = require("node:path")

const here = createRequire(join(process.cwd(), "here.js"))
const { MockController } = here("@zwave-js/testing")

const FRAME = 0x01
const SIGNALS = [0x06, 0x15, 0x18]

/// The frames at the beginning of `bytes`, and what is left.
function frames(bytes) {
  const whole = []
  while (bytes.length > 0) {
    const length = bytes[0] === FRAME ? (bytes.length > 1 ? bytes[1] + 2 : Infinity) : 1
    if (bytes.length < length) break
    whole.push(Uint8Array.from(bytes.subarray(0, length)))
    bytes = bytes.subarray(length)
  }
  return [whole, bytes]
}

MockController.prototype.handleSerialData = async function () {
  let rest = Buffer.alloc(0)
  try {
    for await (const data of this.mockPort.readable) {
      let whole
      ;[whole, rest] = frames(Buffer.concat([rest, Buffer.from(data)]))
      for (const frame of whole) await take(this, frame)
    }
  } catch (error) {
    if (error?.name !== "AbortError") throw error
  }
}

async function take(controller, frame) {
  for (const behavior of controller.behaviors) {
    if (await behavior.onHostData?.(controller, frame)) return
  }
  if (frame.length > 1) void controller.serialOnData(frame)
  else if (SIGNALS.includes(frame[0])) void controller.serialOnData(frame[0])
}

const [port, nodes] = process.argv.slice(2)
process.argv.splice(2, Infinity, "-i", "127.0.0.1", "-p", port, "-c", join(__dirname, nodes))
here(join(process.cwd(), "node_modules/zwave-js/bin/mock-server.cjs"))
