// The nodes of the simulated stick: a switch, a dimmer and a sensor of temperature and humidity.

exports.default = ({ require }) => {
  const { CommandClasses } = require("@zwave-js/core")
  const { ccCaps } = require("@zwave-js/testing")
  const common = [CommandClasses.Version, CommandClasses["Manufacturer Specific"]]
  const node = (id, generic, own) => ({
    id,
    capabilities: {
      genericDeviceClass: generic,
      specificDeviceClass: 0x01,
      commandClasses: [...common, ccCaps({ isSupported: true, ...own })],
    },
  })
  return {
    nodes: [
      node(2, 0x10, { ccId: CommandClasses["Binary Switch"], version: 2, defaultValue: false }),
      node(3, 0x11, { ccId: CommandClasses["Multilevel Switch"], version: 4, defaultValue: 0, primarySwitchType: 2 }),
      node(4, 0x21, {
        ccId: CommandClasses["Multilevel Sensor"],
        version: 11,
        sensors: { 0x01: { supportedScales: [0, 1] }, 0x05: { supportedScales: [0] } },
        getValue: (type) => (type === 0x05 ? 45 : 21.5),
      }),
    ],
  }
}
