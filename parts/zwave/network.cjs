// A zwave-js driver over the simulated stick, reached in one of two ways:
//
//   node network.cjs STICK_PORT CACHE WHEN server PORT              the real zwave-js-server
//   node network.cjs STICK_PORT CACHE WHEN mqtt URL PREFIX NAME     a gateway that speaks as zwave-js-ui does
//
// Packages are looked up from the current folder. Serves, and prints `ready`, as soon as WHEN has happened: `interviewed`,
// or `driver`, when nothing is known of the nodes yet.

const { createRequire } = require("node:module")
const { join } = require("node:path")
const gateway = require("./gateway.cjs")

const here = createRequire(join(process.cwd(), "here.js"))
const { Driver } = here("zwave-js")

const NAMES = { 2: ["Switch One", "Demo"], 3: ["Bob's \"Lämp\" a/b", "Bed Room"], 4: ["Temp Sensor 1", ""] }

const [stick, cacheDir, when, way, ...rest] = process.argv.slice(2)
const key = (digit) => Buffer.from(digit.repeat(32), "hex")
const driver = new Driver(`tcp://127.0.0.1:${stick}`, {
  logConfig: { enabled: false },
  storage: { cacheDir },
  features: { softReset: false },
  securityKeys: {
    S0_Legacy: key("1"),
    S2_Unauthenticated: key("2"),
    S2_Authenticated: key("3"),
    S2_AccessControl: key("4"),
  },
})

// Without its stick there is nothing to serve; who started us sees that we are gone.
driver.on("error", (error) => {
  console.error(error.message)
  process.exit(1)
})
driver.once("driver ready", () => {
  for (const [id, [name, location]] of Object.entries(NAMES)) {
    const node = driver.controller.nodes.get(Number(id))
    if (!node) continue
    node.name = name
    node.location = location
  }
})
driver.once(when === "driver" ? "driver ready" : "all nodes ready", async () => {
  if (way === "server") {
    const { ZwavejsServer } = here("@zwave-js/server")
    await new ZwavejsServer(driver, { host: "127.0.0.1", port: Number(rest[0]) }).start()
  } else {
    await gateway.start(here("mqtt"), driver, ...rest)
  }
  console.log("ready")
})
driver.start()
