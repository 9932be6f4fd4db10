import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

const files = globSync('src/**/*.ts')
  .map(normalize)
  .filter((file) => !file.endsWith('.test.ts'));

interface Import {
  from: string;
  to: string;
  names: string;
  typeOnly: boolean;
}

const imports: Import[] = files.flatMap((from) => {
  const text = readFileSync(from, 'utf8');
  return [...text.matchAll(/^(?:import|export) (type )?([^;]*?)from '([^']+)'/gm)].map((match) => {
    const to = match[3] ?? '';
    return {
      names: match[2] ?? '',
      from,
      to: to.startsWith('.') ? join(dirname(from), to) : to,
      typeOnly: match[1] !== undefined,
    };
  });
});

/** Folders and files that may touch the world outside. */
const EFFECTS = [
  'src/store/',
  'src/http/',
  'src/cli/',
  'src/app.ts',
  'src/main.ts',
  'src/start.ts',
  'src/routes.ts',
];
const isFeature = (file: string): boolean => !EFFECTS.some((start) => file.startsWith(start));
const layerOf = (file: string): string | undefined =>
  /\/(routes|operations|jobs|store|thread)\.ts$/.exec(file)?.[1];
const isPure = (file: string): boolean =>
  file.startsWith('src/') && isFeature(file) && layerOf(file) === undefined;

function broken(rule: (one: Import) => boolean): string[] {
  return imports.filter((one) => rule(one)).map(({ from, to }) => `${from} → ${to}`);
}

/** Reads addresses and touches no network. */
const PURE_PARTS = /^\{ (?:(?:isIP|isIPv4|isIPv6|BlockList)(?:, )?)+ \} node:net$/;

test('a pure file takes nothing in but pure files and types', () => {
  const outside =
    /^node:(fs|net|http|https|child_process|worker_threads|timers|process|os|dns|tls|sqlite)/;
  assert.deepEqual(
    broken(
      ({ from, to, names, typeOnly }) =>
        isPure(from) &&
        !typeOnly &&
        !PURE_PARTS.test(`${names}${to}`) &&
        (outside.test(to) || (to.startsWith('src/') && !isPure(to))),
    ),
    [],
  );
});

test('a store knows the database and pure files, never an operation or a route', () => {
  assert.deepEqual(
    broken(
      ({ from, to }) =>
        isFeature(from) && layerOf(from) === 'store' && /\/(operations|routes|jobs)\.ts$/.test(to),
    ),
    [],
  );
});

test('an operation never reaches back to a route, nor to how requests are read', () => {
  assert.deepEqual(
    broken(
      ({ from, to, typeOnly }) =>
        (layerOf(from) === 'operations' || layerOf(from) === 'jobs') &&
        isFeature(from) &&
        !typeOnly &&
        (/\/routes\.ts$/.test(to) || to.startsWith('src/http/')),
    ),
    [],
  );
});

test('core and x509 stand on nothing of ours but themselves', () => {
  assert.deepEqual(
    broken(
      ({ from, to }) =>
        /^src\/(core|x509)\//.test(from) &&
        to.startsWith('src/') &&
        !/^src\/(core|x509)\//.test(to),
    ),
    [],
  );
});

test('the authority and the broker ask each other, and never read each other’s tables', () => {
  const sideOf = (file: string): string | undefined => /^src\/(pki|broker)\//.exec(file)?.[1];
  assert.deepEqual(
    broken(({ from, to }) => {
      const [own, other] = [sideOf(from), sideOf(to)];
      return own !== undefined && other !== undefined && own !== other && layerOf(to) === 'store';
    }),
    [],
  );
});

test('how answers are dressed knows no operation and no table', () => {
  assert.deepEqual(
    broken(
      ({ from, to, typeOnly }) =>
        from.startsWith('src/http/wire/') &&
        !typeOnly &&
        (layerOf(to) !== undefined || to.startsWith('src/store/')),
    ),
    [],
  );
});

test('only the store knows that there are two engines', () => {
  assert.deepEqual(
    broken(
      ({ from, to }) => !from.startsWith('src/store/') && (to === 'pg' || to === 'node:sqlite'),
    ),
    [],
  );
});

test('only the entry acts on import, and nothing imports it', () => {
  assert.deepEqual(
    broken(({ to }) => to === 'src/main.ts'),
    [],
  );
  const acting = files.filter((file) => {
    const bare = /^import '[^']+';/m.test(readFileSync(file, 'utf8'));
    return bare;
  });
  assert.deepEqual(acting, []);
});
