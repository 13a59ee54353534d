// What the page computes, asked of its own modules in the browser: quoting, filters, schemas, numbers, Markdown, scales.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { visit } from './browser.mjs';

/** Strings that shells like to misread. */
const HARD = [
  '',
  'plain',
  "it's",
  `"`,
  '$HOME `id` $(id) \\',
  'a\nb',
  '-d',
  '@file',
  '{"a":"ü 🎉 \' \\" \\\\"}',
  '!',
  '*',
  "''",
  '#x',
  '~',
];

/** A schema, a value, and what the form makes of it: the labels of its fields in order. */
const FORMS = [
  [
    { type: 'object', properties: { a: { type: 'string' }, b: { type: ['integer', 'null'] } }, required: ['a'] },
    {},
    ['a*', 'b'],
  ],
  [
    {
      allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { $ref: '#/$defs/more' }],
      $defs: { more: { properties: { b: { type: 'boolean' } } } },
    },
    {},
    ['b', 'a*'],
  ],
  // One that contains itself ends somewhere.
  [
    { type: 'object', properties: { left: { $ref: '#' }, name: { type: 'string' } } },
    {},
    ['left', 'left', 'left', 'name', 'name', 'name'],
  ],
  [{ $ref: '#/$defs/missing' }, {}, []],
  [true, { any: 1 }, []],
  [
    { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } } },
    { list: [1, 2] },
    ['list', 'Item 1', 'Item 2'],
  ],
  [
    {
      type: 'object',
      properties: {
        one: {
          oneOf: [{ const: 'x' }, { type: 'object', properties: { deep: { type: 'string' } }, required: ['deep'] }],
        },
      },
    },
    { one: { deep: 'y' } },
    ['one', 'deep*'],
  ],
  [{ type: 'object', properties: { 'a/b~c': { type: 'string' } } }, {}, ['a/b~c']],
];

const GLOBS = [
  ['zwave__*', 'zwave__on', true],
  ['zwave__*', 'a_zwave__on', false],
  ['math', 'math_eval', true],
  ['MATH', 'math_eval', true],
  ['a.b', 'axb', false],
  ['*[x]', 'y[x]', true],
];

const NUMBERS = ['{"a":12345678901234567890}', '{"a":1.0}', '[0.1,1e400,-0]', '{"a":[1,2,{"b":3.50}]}', '1', '"1.0"'];

const MARKDOWN = [
  ['one\ntwo', 'p:onetwo'],
  ['# T\n\n- a\n- **b**', 'p:T ul:ab'],
  ['1. a\n2. b', 'ol:ab'],
  ['x\n```js\n<b>1</b>\n```\ny', 'p:x pre:<b>1</b> p:y'],
  ['<img src=x onerror=alert(1)>', 'p:<img src=x onerror=alert(1)>'],
  ['```\nopen', 'pre:open'],
  ['2 * 3 * 4', 'p:2 * 3 * 4'],
  ['a | b', 'p:a | b'],
];

/** Texts with tables, and their rows: cells between `|`, numbers in brackets. */
const TABLES = [
  ['| city | ahead |\n|---|---:|\n| Berlin | 0 |\n| Tokyo | 8 |', ['city|[ahead]', 'Berlin|[0]', 'Tokyo|[8]']],
  ['a | b\n:-- | :-:\n1 | x \\| y', ['a|b', '1|x | y']],
  ['Before:\n| a | b |\n|-|-|\n| <b>1</b> | |\nAfter', ['a|b', '<b>1</b>|']],
  ['| no | dashes |\n| a | b |', []],
];

/** Texts with what may look like a link, and where the links of them lead; the text names the host if the words do not. */
const LINKS = [
  ['see [the page](https://a.example/x?y=1)', ['https://a.example/x?y=1'], 'see the page (a.example)'],
  ['https://a.example/x, and so on', ['https://a.example/x'], 'https://a.example/x, and so on'],
  ['[https://good.example/](https://bad.example/)', ['https://bad.example/'], 'https://good.example/ (bad.example)'],
  ['| a |\n|---|\n| [b](http://c.example/) |', ['http://c.example/'], 'ab (c.example)'],
  ...[
    '[x](javascript:alert`1`)',
    '[x](JavaScript:alert%281%29)',
    '[x](data:text/html,<script>1</script>)',
    '[x](vbscript:x)',
    '[x](file:///etc/passwd)',
    '[x](//bad.example/)',
    '[x](/api/tools)',
    '![x](nowhere)',
    '<a href="ftp://bad.example/">x</a>',
  ].map((text) => [text, [], null]),
];

/** All elements that a text of a model becomes. */
const HARMLESS = ['a', 'br', 'code', 'div', 'em', 'li', 'ol', 'p', 'pre', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul']; // prettier-ignore

/** Command lines, and the words that a shell makes of them. */
const WORDS = [
  ['uvx mcp-server-time  --local-timezone UTC', ['uvx', 'mcp-server-time', '--local-timezone', 'UTC']],
  [`a "b c" 'd "e"' f\\ g`, ['a', 'b c', 'd "e"', 'f g']],
  [`--x="1 2"'3' ""`, ['--x=1 23', '']],
  ['"a\\"b"', ['a"b']],
  ['', []],
];

/** Two texts, a letter for a line, and how they stand side by side. */
const TEXTS = [
  ['abc', 'abc', 'aa bb cc'],
  ['abc', 'axc', 'aa bx cc'],
  ['abc', 'ac', 'aa b. cc'],
  ['', 'ab', '.a .b'],
  ['ab', 'xaby', '.x aa bb .y'],
];

await visit(async ({ window }) => {
  const page = await (await window()).open('/live');
  const ask = (work, given) => page.evaluate(work, given);

  const quoted = await ask(async (texts) => {
    const { quoted: quote } = await import('/console/tools/lines.js');
    return texts.map(quote);
  }, HARD);
  HARD.forEach((text, index) =>
    assert.equal(execFileSync('sh', ['-c', `printf %s ${quoted[index]}`], { encoding: 'utf8' }), text),
  );

  for (const [schema, value, labels] of FORMS) {
    const shown = await ask(
      async ([own, first]) => {
        const { Form } = await import('/console/tools/form.js');
        const form = new Form(own, () => {});
        form.show(first);
        return [...form.element.querySelectorAll('label, legend')].map((label) =>
          [...label.childNodes]
            .filter((node) => !node.classList?.contains('type'))
            .map((node) => node.textContent)
            .join(''),
        );
      },
      [schema, value],
    );
    assert.deepEqual(shown.toSorted(), labels.toSorted(), JSON.stringify(schema));
  }

  for (const [glob, name, matches] of GLOBS) {
    assert.equal(
      await ask(
        async ([pattern, text]) => (await import('/console/live/filter.js')).glob(pattern).test(text),
        [glob, name],
      ),
      matches,
      `${glob} ${name}`,
    );
  }
  for (const text of NUMBERS) {
    assert.equal(
      await ask(async (said) => {
        const { parse, write } = await import('/console/json.js');
        return write(parse(said));
      }, text),
      text,
    );
  }
  // Ours are numbers that one can count with, whatever they look like.
  assert.equal(
    await ask(async () => {
      const { answer } = await import('/console/json.js');
      return answer('{"ms":0.0,"arguments":{"a":1.0}}').ms + 1;
    }),
    1,
  );

  for (const [text, blocks] of MARKDOWN) {
    const made = await ask(
      async (said) =>
        (await import('/console/markdown.js'))
          .markdown(said)
          .map((block) => `${block.localName}:${block.textContent}`)
          .join(' '),
      text,
    );
    assert.equal(made, blocks);
  }

  const rendered = (text) =>
    ask(async (said) => {
      const root = document.createElement('div');
      root.append(...(await import('/console/markdown.js')).markdown(said));
      const cell = (one) => (one.className === 'number' ? `[${one.textContent}]` : one.textContent);
      return {
        rows: [...root.querySelectorAll('tr')].map((row) => [...row.children].map(cell).join('|')),
        links: [...root.querySelectorAll('a')].map((link) => link.getAttribute('href')),
        rels: [...root.querySelectorAll('a')].map((link) => `${link.target} ${link.rel}`),
        names: [...root.querySelectorAll('*')].map((one) => one.localName),
        text: root.textContent,
      };
    }, text);
  for (const [text, rows] of TABLES) assert.deepEqual((await rendered(text)).rows, rows, text);
  for (const [text, links, shown] of LINKS) {
    const made = await rendered(text);
    assert.deepEqual(made.links, links, text);
    assert.equal(made.text, shown ?? text);
    assert(
      made.rels.every((rel) => rel === '_blank noopener noreferrer'),
      text,
    );
  }
  for (const [text] of [...MARKDOWN, ...TABLES, ...LINKS]) {
    for (const name of (await rendered(text)).names) assert(HARMLESS.includes(name), `${name}: ${text}`);
  }

  // mcp-remote takes plain HTTP from other machines only if it is told so.
  const flags = await ask(
    async (urls) => {
      const { CLIENTS } = await import('/console/connect.js');
      const desktop = CLIENTS.find(({ name }) => name === 'Claude Desktop');
      return urls.map((url) =>
        JSON.parse(desktop.text(url, 'sb_x')).mcpServers.switchboard.args.includes('--allow-http'),
      );
    },
    [
      'http://127.0.0.1:7300/mcp',
      'http://localhost/mcp',
      'https://tools.example/mcp',
      'http://192.168.1.5:7300/mcp',
      'http://localhost.example:7300/mcp',
      'http://[::1]:7300/mcp',
    ],
  );
  assert.deepEqual(flags, [false, false, false, true, true, true]);

  for (const [most, steps, least] of [
    [0, [0, 1]],
    [7, [0, 2, 4, 6, 8]],
    [100, [0, 25, 50, 75, 100]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [9, [0, 2.5, 5, 7.5, 10]],
    // Calls are whole.
    [9, [0, 5, 10], 1],
    [1, [0, 1], 1],
    [3, [0, 1, 2, 3], 1],
  ]) {
    const scale = await ask(
      async ([top, least]) => (await import('/console/chart.js')).scale(top, 4, least),
      [most, least],
    );
    assert.deepEqual(
      scale.map((step) => Number(step.toFixed(6))),
      steps,
    );
  }

  // A waterfall's axis has round times, zoomed or not.
  const ticks = await ask(async () => {
    const { Zoom } = await import('/console/live/zoom.js');
    const { roundDuration } = await import('/console/format.js');
    const zoom = new Zoom();
    const shown = () => zoom.ticks(9310).map(({ at, left }) => [roundDuration(at), Math.round(left)]);
    const whole = shown();
    zoom.select(0.25, 0.5);
    return {
      whole,
      part: shown().map(([time]) => time),
      times: [0.5, 250, 2500, 90_000, 900_000, 7_260_000].map(roundDuration),
    };
  });
  assert.deepEqual(ticks, {
    whole: [
      ['0', 0],
      ['2 s', 21],
      ['4 s', 43],
      ['6 s', 64],
      ['8 s', 86],
    ],
    part: ['2.5 s', '3 s', '3.5 s', '4 s', '4.5 s'],
    times: ['500 µs', '250 ms', '2.5 s', '1 min 30 s', '15 min', '2 h 1 min'],
  });

  // One slow call does not flatten the others.
  const axis = await ask(async () => {
    const { steps, share } = (await import('/console/chart.js')).logarithmic([2, 30, 33_000]);
    return { steps, shares: [1, 10, 100_000].map(share) };
  });
  assert.deepEqual(axis, { steps: [1, 10, 100, 1000, 10_000, 100_000], shares: [0, 0.2, 1] });

  for (const [line, words] of WORDS) {
    const split = await ask(async (text) => (await import('/console/servers/add.js')).splitWords(text), line);
    assert.deepEqual(split, words, line);
  }
  for (const [left, right, sides] of TEXTS) {
    const lines = await ask(
      async ([one, other]) => (await import('/console/live/difference.js')).differences([...one], [...other]),
      [left, right],
    );
    assert.equal(lines.map((pair) => `${pair.left ?? '.'}${pair.right ?? '.'}`).join(' '), sides);
  }
  const zoomed = await ask(async () => {
    const { Zoom } = await import('/console/live/zoom.js');
    const zoom = new Zoom();
    const steps = [];
    const see = () => steps.push([zoom.from, zoom.to]);
    zoom.by(2);
    see();
    zoom.move(9);
    see();
    zoom.select(0, 0.5);
    see();
    steps.push(zoom.place(0, 0.1));
    zoom.by(1 / 100);
    see();
    return steps;
  });
  assert.deepEqual(zoomed, [[0.25, 0.75], [0.5, 1], [0.5, 0.75], null, [0, 1]]);
});
