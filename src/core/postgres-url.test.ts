import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from './failure.ts';
import { parsePostgresUrl } from './postgres-url.ts';

const at = (query: string): string => `postgres://gatehouse:hunter2@db.test/gatehouse${query}`;

const good: [query: string, sslmode: string, why: string][] = [
  ['', 'disable', 'nothing is said'],
  ['?sslmode=disable', 'disable', 'none is wanted'],
  ['?sslmode=require', 'require', 'the system’s authorities'],
  ['?sslmode=verify-full&sslrootcert=/ca.pem', 'verify-full', 'a CA of one’s own'],
  ['?sslmode=verify-ca&sslrootcert=/ca.pem', 'verify-ca', 'whoever the authority vouches for'],
  ['?sslmode=verify-full&sslcert=/c&sslkey=/k', 'verify-full', 'a certificate of the client’s'],
];

for (const [query, sslmode, why] of good) {
  test(`${query || 'a plain URL'} is taken: ${why}`, () => {
    const { url, security } = parsePostgresUrl(at(`${query}${query ? '&' : '?'}options=x`));
    assert.equal(security.sslmode, sslmode);
    assert.equal(url, at('?options=x'), 'the driver reads none of it');
  });
}

const bad: [text: string, says: RegExp, why: string][] = [
  [at('?sslmode=prefer'), /must be one of disable, require/, 'would fall back to no TLS'],
  [at('?sslmode=allow'), /must be one of/, 'would fall back, too'],
  [at('?sslmode=no-verify'), /must be one of/, 'would trust anybody'],
  [at('?sslmode=verify-fulll'), /must be one of/, 'a slip'],
  [at('?sslmode=VERIFY-FULL'), /must be one of/, 'another one'],
  [at('?sslmode=require&sslmode=disable'), /sslmode twice/, 'two answers to one question'],
  [at('?ssl=true'), /use sslmode/, 'the driver’s own way'],
  [at('?sslmode=verify-full&uselibpqcompat=true'), /use sslmode/, 'makes the others weaker'],
  [at('?sslmode=verify-ca'), /needs sslrootcert/, 'any certificate of any CA'],
  [at('?sslrootcert=/ca.pem'), /say sslmode/, 'a CA and no TLS'],
  [at('?sslmode=disable&sslcert=/c&sslkey=/k'), /say sslmode/, 'a certificate and no TLS'],
  [at('?sslmode=verify-full&sslcert=/c'), /belong together/, 'a certificate without its key'],
  ['mysql://gatehouse:hunter2@db.test/x', /must begin with postgres/, 'another database'],
  ['postgres//gatehouse:hunter2@db.test', /no URL/, 'no URL'],
  ['postgres://gatehouse:hunter2@db.test:port/x', /no URL/, 'a port that is none'],
];

for (const [text, says, why] of bad) {
  test(`${text.replace(/^.*test\/gatehouse/, '')} is refused: ${why}`, () => {
    assert.throws(
      () => parsePostgresUrl(text),
      (error: unknown) => {
        assert.ok(error instanceof Failure);
        assert.match(error.message, says);
        assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /hunter2/);
        return true;
      },
    );
  });
}
