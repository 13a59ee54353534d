"""Makes `words.bin` from the wheel of wordllama: `python3 quantise.py WHEEL`.

Little-endian: tokens (u32), dimensions (u32); per token its length (u8) and text; per token its scale (f32); then the values, one signed
byte each. A value is `byte * scale`. The first 128 of 256 dimensions are kept: the table was trained so that they stand alone.
"""

import array, json, struct, sys, zipfile

DIMENSIONS = 128

wheel = zipfile.ZipFile(sys.argv[1])
weights = wheel.read("wordllama/weights/l2_supercat_256.safetensors")
tokenizer = json.loads(wheel.read("wordllama/tokenizers/l2_supercat_tokenizer_config.json"))
vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda entry: entry[1])
header = struct.unpack_from("<Q", weights)[0]
rows, columns = json.loads(weights[8 : 8 + header])["embedding.weight"]["shape"]
texts, scales, values = bytearray(), array.array("f"), array.array("b")
for (text, at) in vocabulary:
    text = text.encode()
    texts += bytes([len(text)]) + text
    row = struct.unpack_from(f"<{DIMENSIONS}e", weights, 8 + header + at * columns * 2)
    scale = max(map(abs, row)) / 127 or 1.0
    scales.append(scale)
    values.extend(round(value / scale) for value in row)
with open("words.bin", "wb") as out:
    out.write(struct.pack("<II", rows, DIMENSIONS) + texts + scales.tobytes() + values.tobytes())
