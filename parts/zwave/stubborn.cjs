// Nodes of the simulated stick that do not do as they are told, or not at once:
//
//   2  a switch that acknowledges every frame and ignores every Set
//   3  a dimmer that does the same
//   4  a switch that is supervised: it says itself that it did it
//   5  a dimmer that takes 1.5 s for its whole range
//   6  a device of two parts, a switch and a dimmer
//   7  a switch that answers nothing before the file $SWITCHBOARD_INTERVIEW is there, if that is set
//
// Each behaviour is zwave-js's own mock, with one thing taken away.

const { existsSync } = require("node:fs")
const { setTimeout } = require("node:timers/promises")

exports.default = ({ require }) => {
  const { BinarySwitchCCSet, MultilevelSwitchCCSet } = require("@zwave-js/cc")
  const { CommandClasses } = require("@zwave-js/core")
  const { ccCaps } = require("@zwave-js/testing")
  const common = [CommandClasses.Version, CommandClasses["Manufacturer Specific"]]
  const binary = ccCaps({ isSupported: true, ccId: CommandClasses["Binary Switch"], version: 2, defaultValue: false })
  const multilevel = (travelTime) =>
    ccCaps({
      isSupported: true,
      ccId: CommandClasses["Multilevel Switch"],
      version: 4,
      defaultValue: 0,
      primarySwitchType: 2,
      travelTime,
    })
  const node = (id, generic, own, more = {}) => ({
    id,
    capabilities: {
      genericDeviceClass: generic,
      specificDeviceClass: 0x01,
      commandClasses: [...common, ...own],
      ...more.capabilities,
    },
    behaviors: more.behaviors,
  })
  const ignore = (command) => ({ handleCC: (_, __, cc) => (cc instanceof command ? { action: "stop" } : undefined) })
  const file = process.env.SWITCHBOARD_INTERVIEW
  const late = {
    transformIncomingCC: async (_, __, cc) => {
      while (file && !existsSync(file)) await setTimeout(50)
      return cc
    },
  }
  const channels = { ccId: CommandClasses["Multi Channel"], isSupported: true, version: 4 }
  const parts = {
    endpoints: [
      { genericDeviceClass: 0x10, specificDeviceClass: 0x01, commandClasses: [binary] },
      { genericDeviceClass: 0x11, specificDeviceClass: 0x01, commandClasses: [multilevel(0)] },
    ],
  }
  return {
    nodes: [
      node(2, 0x10, [binary], { behaviors: [ignore(BinarySwitchCCSet)] }),
      node(3, 0x11, [multilevel(0)], { behaviors: [ignore(MultilevelSwitchCCSet)] }),
      node(4, 0x10, [binary, CommandClasses.Supervision]),
      node(5, 0x11, [multilevel(1500)]),
      node(6, 0x10, [channels], { capabilities: parts }),
      node(7, 0x10, [binary], { behaviors: [late] }),
    ],
  }
}
