// zwave-js-ui's MQTT side over a driver, as far as the tests need it: named topics, payloads `{time, value}`, the API.
//
// Topics, payloads and answers are those of a live zwave-js-ui 11.22.2. What the tests do not use is left out.

const CLASSES = { 32: "basic", 37: "switch_binary", 38: "switch_multilevel", 49: "sensor_multilevel" }
const STATUS = ["Unknown", "Asleep", "Awake", "Dead", "Alive"]

const sanitize = (text) => text.replace(/\s/g, "_").replace(/[^A-Za-z0-9\-_À-ÖØ-öø-ÿ/]/g, "")

exports.start = (mqtt, driver, url, prefix, name) =>
  new Promise((resolve) => {
    const id = sanitize(`ZWAVE_GATEWAY-${name}`)
    const own = `${prefix}/_CLIENTS/${id}`
    const will = { topic: `${own}/status`, payload: JSON.stringify({ value: false }), qos: 1, retain: true }
    const client = mqtt.connect(url, { will, reconnectPeriod: 500 })
    const say = (topic, value, retain = true) => client.publish(topic, JSON.stringify(value), { qos: 1, retain })

    const topic = (node, value) => {
      const place = node.location ? `${sanitize(node.location)}/` : ""
      const called = sanitize(node.name ?? "") || `nodeID_${node.id}`
      const kind = CLASSES[value.commandClass] ?? `unknownClass_${value.commandClass}`
      const property = sanitize(String(value.propertyName ?? value.property).replace(/\//g, "-"))
      return `${prefix}/${place}${called}/${kind}/endpoint_${value.endpoint ?? 0}/${property}`
    }
    const report = (node, value) => say(topic(node, value), { time: Date.now(), value: value.newValue })
    for (const node of driver.controller.nodes.values()) {
      node.on("value updated", report).on("value added", report)
    }

    client.on("connect", () => {
      client.subscribe(`${own}/api/+/set`, { qos: 1 }, () => {
        say(`${own}/status`, { value: true, time: Date.now() })
        say(`${own}/version`, { value: "11.22.2", time: Date.now() })
        say(`${prefix}/driver/status`, true)
        resolve()
      })
    })
    // As zwave-js-ui when it is stopped: the driver goes, then the connection, and no will is published.
    process.once("SIGTERM", async () => {
      await client.publishAsync(`${prefix}/driver/status`, "false", { qos: 1, retain: true })
      await driver.destroy()
      await client.endAsync()
      process.exit(0)
    })
    client.on("message", async (at, payload) => {
      const asked = at.split("/").at(-2)
      const reply = await answer(driver, asked, payload.toString())
      say(at.replace(/\/set$/, ""), reply, false)
    })
  })

async function answer(driver, asked, payload) {
  const origin = JSON.parse(payload)
  const reply = (success, message, result) => ({ success, message, result, args: origin.args, origin })
  if (!Array.isArray(origin.args)) return reply(false, "Args must be an array")
  if (!API[asked]) return reply(false, "Unknown API")
  try {
    return reply(true, "Success zwave api call", await API[asked](driver, ...origin.args))
  } catch (error) {
    return reply(false, error.message)
  }
}

const API = {
  getNodes: (driver) => [
    { id: 255, name: "Broadcast", virtual: true, ready: true, available: true, failed: false, inited: true, values: {} },
    ...[...driver.controller.nodes.values()].map((node) => described(driver, node)),
  ],
  writeValue: async (driver, { nodeId, ...value }, written, options) => {
    const node = driver.controller.nodes.get(nodeId)
    // As zwave-js-ui: a write that fails is a success of the API.
    return node ? await node.setValue(value, written, options) : { status: 2 }
  },
  getInfo: () => ({ uptime: process.uptime(), appVersion: "11.22.2" }),
  setNodeName: (driver, id, name) => Boolean((driver.controller.nodes.getOrThrow(id).name = name)),
  setNodeLocation: (driver, id, place) => Boolean((driver.controller.nodes.getOrThrow(id).location = place)),
  pollValue: (driver, { nodeId, ...value }) => driver.controller.nodes.getOrThrow(nodeId).pollValue(value),
}

function described(driver, node) {
  // As zwave-js-ui: nothing but the name is known before the interview.
  const known = node.ready ? node.getDefinedValueIDs() : []
  const values = known.map((value) => {
    const { commandClass, commandClassName, endpoint = 0, property, propertyName, propertyKey } = value
    const key = [commandClass, endpoint, property, ...(propertyKey === undefined ? [] : [propertyKey])].join("-")
    const { type, readable, writeable, label, unit, min, max } = node.getValueMetadata(value)
    const described = {
      id: `${node.id}-${key}`, nodeId: node.id, commandClass, commandClassName, endpoint, property, propertyName,
      propertyKey, type, readable, writeable, label, unit, min, max, value: node.getValue(value),
      lastUpdate: node.getValueTimestamp(value),
    }
    return [key, described]
  })
  return {
    id: node.id, name: node.name ?? "", loc: node.location ?? "", ready: node.ready, available: true, failed: false,
    inited: true, status: STATUS[node.status], isControllerNode: node.isControllerNode,
    lastActive: node.lastSeen?.getTime(), values: Object.fromEntries(values),
  }
}
