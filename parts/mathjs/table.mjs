// Answers a list of expressions with the real mathjs, one JSON line each, or as one array.
//
//   node table.mjs expressions.txt [--array]
//
// The package is looked up from the current folder, so that the script itself may live elsewhere.
// Answers use the result model of `switchboard-math`: see docs/math.md.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

const require = createRequire(join(process.cwd(), "here.js"))
const { create, all } = require("mathjs")
const math = create(all)

// mathjs remembers the units it has parsed and prefers them later; each line starts from a clean slate.
const freshUnits = { ...math.Unit.UNIT_SYSTEMS.auto }

function plain(value) {
  if (value === undefined || value === null) return null
  if (typeof value === "boolean" || typeof value === "string") return value
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error(`The result is ${value}`)
    return value
  }
  if (typeof value === "function") return value.syntax ?? value.name
  if (math.isUnit(value)) return value.toString()
  if (math.isComplex(value)) return { re: plain(value.re), im: plain(value.im) }
  if (math.isResultSet(value)) {
    const entries = value.entries.map(plain)
    return entries.length === 1 ? entries[0] : entries
  }
  if (math.isMatrix(value)) return plain(value.toArray())
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === "bigint" || math.isBigNumber(value) || math.isFraction(value)) return value.toString()
  if (Object.getPrototypeOf(value) === Object.prototype) {
    const entries = Object.entries(value).filter(([key]) => key !== "toString")
    return Object.fromEntries(entries.map(([key, item]) => [key, plain(item)]))
  }
  if (value instanceof Map) return plain(Object.fromEntries(value))
  return String(value)
}

function answer(expr) {
  const auto = math.Unit.UNIT_SYSTEMS.auto
  for (const key of Object.keys(auto)) if (!(key in freshUnits)) delete auto[key]
  Object.assign(auto, freshUnits)
  try {
    return { expr, value: plain(math.evaluate(expr)) }
  } catch (error) {
    return { expr, error: String(error?.message ?? error) }
  }
}

const [file, form] = process.argv.slice(2)
const lines = readFileSync(file ?? 0, "utf8").split("\n").filter((line) => line !== "" && !line.startsWith("# "))
const answers = lines.map((line) => JSON.stringify(answer(line.replaceAll("⏎", "\n"))))
process.stdout.write(form === "--array" ? `[\n${answers.join(",\n")}\n]\n` : answers.join("\n") + "\n")
