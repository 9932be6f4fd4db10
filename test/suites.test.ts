import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { filesOfSuites, ON_THREADS, SUITES } from './suites.ts';

const ALL = globSync('{src,test}/**/*.test.ts').sort();

test('every test file is in one suite', () => {
  const inSuites = [...filesOfSuites().values()].flat();
  assert.deepEqual(
    ALL.filter((file) => !inSuites.includes(file)),
    [],
  );
  assert.equal(new Set(inSuites).size, inSuites.length);
});

test('every suite has files, a command, and is run before anything lands', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  const run = readFileSync('.ci/run', 'utf8');
  for (const [suite, files] of filesOfSuites()) {
    const script = suite === 'quick' ? 'test' : `test:${suite}`;
    assert.ok(files.length > 0, suite);
    assert.equal(scripts[script], `node test/suites.ts ${suite}`);
    const command = script === 'test' ? 'npm test' : `npm run ${script}`;
    assert.ok(
      run.split('\n').some((line) => line.endsWith(command)),
      `${command} in .ci/run`,
    );
  }
  assert.equal(Object.keys(SUITES).length, filesOfSuites().size);
});

test('what is run again with several threads is there, and run before anything lands', () => {
  const missing = ON_THREADS.files.filter((file) => !ALL.includes(file));
  assert.deepEqual(missing, []);
  assert.match(readFileSync('.ci/run', 'utf8'), /npm run test:threads$/m);
});
