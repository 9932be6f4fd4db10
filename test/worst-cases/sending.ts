/** Ways to send a request, from the first byte of its head to what comes after its body. */

/** What is written on one connection, piece by piece. */
export interface Sending {
  name: string;
  pieces: readonly string[];
}

/** What the ways are tried on. */
export interface Asked {
  name: string;
  method: string;
  target: string;
  /** With their line ends. */
  headers: string;
  body: string;
}

const KIB = 1 << 10;
/** A little less than a head may have in all. */
const HEAD = 15 * KIB;

/** As often as there is room for it. */
const fill = (unit: string, room: number): string => unit.repeat(Math.floor(room / unit.length));

function head({ method, target, headers }: Asked, more: string, at = target): string {
  return `${method} ${at} HTTP/1.1\r\nHost: localhost\r\n${headers}${more}\r\n`;
}

const whole = (asked: Asked, more: string, body = asked.body): string =>
  `${head(asked, `${more}Content-Length: ${Buffer.byteLength(body)}\r\n`)}${body}`;

/** @param extension what follows a chunk's length, with its semicolon */
function inChunks(body: string, size: number, extension: string): string {
  const count = Math.ceil(body.length / size);
  return Array.from({ length: count }, (_, at) => {
    const piece = body.slice(at * size, (at + 1) * size);
    return `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`;
  }).join('');
}

const chunked = (asked: Asked, body: string, end = '0\r\n\r\n'): string =>
  `${head(asked, 'Transfer-Encoding: chunked\r\n')}${body}${end}`;

const CHUNKS: readonly number[] = [1, 2, 3, 16, 255, 4_096, 65_536];
const EXTENSIONS: readonly string[] = [
  ';a', ';a=b', ';a="b"', `;a=${'b'.repeat(200)}`, fill(';a=b', 200), fill(';a="\\""', 200), `;a="${'\\"'.repeat(100)}"`,
]; // biome-ignore format: one table
const TRAILERS: readonly string[] = [
  'a: b\r\n', fill('a: b\r\n', HEAD), `a: ${'b'.repeat(HEAD)}\r\n`, `${'a'.repeat(HEAD)}: b\r\n`, 'Content-Length: 5\r\n',
  'X-Vault-Token: root\r\n', 'Transfer-Encoding: chunked\r\n',
]; // biome-ignore format: one table
const ENCODINGS: readonly string[] = [
  'gzip', 'deflate', 'br', 'zstd', 'identity', 'x', '*', fill('gzip, ', HEAD), fill('identity,', HEAD), fill(', ', HEAD),
]; // biome-ignore format: one table
const TYPES: readonly string[] = [
  'application/json', 'application/x-www-form-urlencoded', 'application/merge-patch+json', 'text/plain', 'application/pkix-crl',
  'application/ocsp-request', 'multipart/form-data; boundary=a', `multipart/form-data; boundary=${'a'.repeat(HEAD)}`,
  'application/json; charset=utf-16', `application/json${fill(';a=b', HEAD)}`, `application/json${fill(' ;', HEAD)}`,
  `application/json; a="${'\\"'.repeat(KIB)}`, fill('a/', HEAD), fill('application/json,', HEAD), '', fill(';', HEAD),
]; // biome-ignore format: one table

/** Headers that somebody reads: the server, or what it listens with. */
const READ: readonly string[] = [
  'Accept', 'Accept-Encoding', 'Accept-Language', 'Authorization', 'Cache-Control', 'Connection', 'Cookie', 'Date', 'Expect', 'Forwarded',
  'If-Match', 'If-Modified-Since', 'If-None-Match', 'Keep-Alive', 'Origin', 'Range', 'Referer', 'TE', 'Upgrade', 'User-Agent',
  'Via', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Http-Method-Override', 'X-Request-Id', 'X-Vault-Namespace',
  'X-Vault-Policy-Override', 'X-Vault-Request', 'X-Vault-Token', 'X-Vault-Wrap-Format', 'X-Vault-Wrap-Ttl',
]; // biome-ignore format: one table
const VALUES: readonly string[] = [
  'a',
  ' ',
  ',',
  ', ',
  '; ',
  'a=b; ',
  '"',
  '\\"',
  '1.2.3.4, ',
  'a;q=0.1,',
  '1',
  'W/"a", ',
  '%61',
  'é',
];
const QUERIES: readonly string[] = [
  'a', 'a=b&', '&', '=', 'a=&', '%', '%61', '%e9', '+', 'a[]=b&', 'a.b=c&', 'list=true&', 'filter=a&', ';', '?', '#', '/',
]; // biome-ignore format: one table
const PATHS: readonly string[] = [
  'a',
  '/',
  'a/',
  '%2f',
  '%',
  '%61',
  '..',
  '../',
  './',
  ':',
  '*',
  '%00',
  '//',
];
const BODIES: readonly string[] = [
  'a=b&', '&', '=', 'a=&', '%61', '%', '+', 'a[b]=c&', 'a[]=b&', '[', '{"a":', '"\\u0061', '\\', ' ', '\n', '\u0000', '{"a":1,', '"a",', '1', '--a\r\n',
  'a: b\r\n', '\ufeff', 'é',
]; // biome-ignore format: one table

const forms: Readonly<Record<string, (asked: Asked) => Sending[]>> = {
  chunks: (asked) =>
    CHUNKS.map((size) => ({
      name: `chunks of ${size}`,
      pieces: [chunked(asked, inChunks(asked.body, size, ''))],
    })),
  extensions: (asked) =>
    EXTENSIONS.flatMap((extension) =>
      [1, 64].map((size) => ({
        name: `chunks of ${size} with ${extension.slice(0, 12)}`,
        pieces: [chunked(asked, inChunks(asked.body.slice(0, 40_000), size, extension))],
      })),
    ),
  trailers: (asked) =>
    TRAILERS.map((trailer) => ({
      name: `a trailer ${trailer.slice(0, 12)}`,
      pieces: [chunked(asked, inChunks(asked.body, 4_096, ''), `0\r\n${trailer}\r\n`)],
    })),
  encodings: (asked) =>
    ENCODINGS.map((encoding) => ({
      name: `encoded as ${encoding.slice(0, 16)}`,
      pieces: [whole(asked, `Content-Encoding: ${encoding}\r\n`)],
    })),
  types: (asked) =>
    TYPES.map((type) => ({
      name: `of type ${type.slice(0, 40)}`,
      pieces: [whole(asked, `Content-Type: ${type}\r\n`)],
    })),
  headers: (asked) => [
    ...READ.flatMap((name) =>
      VALUES.map((value) => ({
        name: `${name}: ${value}…`,
        pieces: [whole(asked, `${name}: ${fill(value, HEAD)}\r\n`, '{}')],
      })),
    ),
    ...READ.map((name) => ({
      name: `${name} again and again`,
      pieces: [whole(asked, fill(`${name}: a\r\n`, HEAD), '{}')],
    })),
    ...['a: b\r\n', 'a:\r\n', 'Cookie: a=b\r\n', 'X-Vault-Token: a\r\n'].map((line) => ({
      name: `as many lines ${line.trim()} as there is room for`,
      pieces: [whole(asked, fill(line, HEAD), '{}')],
    })),
    { name: 'a head without an end', pieces: [`GET / HTTP/1.1\r\n${fill('a: b\r\n', 80 * KIB)}`] },
  ],
  queries: (asked) =>
    QUERIES.map((unit) => ({
      name: `a query of ${unit}`,
      pieces: [`${head(asked, '', `${asked.target}?${fill(unit, HEAD)}`)}`],
    })),
  paths: (asked) =>
    PATHS.map((unit) => ({
      name: `a path of ${unit}`,
      pieces: [`${head(asked, '', `${asked.target}/${fill(unit, HEAD)}`)}`],
    })),
  bodies: (asked) =>
    BODIES.flatMap((unit) =>
      TYPES.slice(0, 3).map((type) => ({
        name: `a body of ${JSON.stringify(unit)} as ${type}`,
        pieces: [whole(asked, `Content-Type: ${type}\r\n`, fill(unit, asked.body.length))],
      })),
    ),
  pipelined: (asked) => [
    { name: 'thirty in one go', pieces: [whole(asked, '', '{}').repeat(30)] },
    { name: 'a thousand in one go', pieces: [whole(asked, '', '{}').repeat(1_000)] },
    { name: 'chunked, thirty in one go', pieces: [chunked(asked, '2\r\n{}\r\n').repeat(30)] },
    {
      name: 'something that is no request after it',
      pieces: [`${whole(asked, '', '{}')}${fill('a', 64 * KIB)}`],
    },
  ],
  segments: (asked) => [
    { name: 'a segment for each byte', pieces: [...whole(asked, '', '{"a":"b"}')] },
    {
      name: 'a segment for each byte of a chunk',
      pieces: [...chunked(asked, inChunks(asked.body.slice(0, 100), 1, ';a'))],
    },
    {
      name: 'segments of 500 bytes',
      pieces: whole(asked, '').match(/[\s\S]{1,500}/g) ?? [],
    },
  ],
};

/** Every way to send a request, by kind. */
export const SENDINGS: readonly (readonly [kind: string, make: (asked: Asked) => Sending[]])[] =
  Object.entries(forms);
