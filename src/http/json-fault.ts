/**
 * Says what is wrong with a text that is not acceptable JSON, and where, without quoting any of
 * its values. Slower than parsing, and used only once parsing has failed.
 *
 * @param text of known depth: it recurses
 * @returns e.g. `line 2, column 14: expected ":"`, or `the key "ttl" is given twice (line 1, column 20)`;
 *          undefined if nothing is wrong
 */
export function findJsonFault(text: string): string | undefined {
  const walker = new Walker(text);
  try {
    walker.walkDocument();
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** How the walk ends; never seen outside this file. */
class Fault extends Error {}

const SPACE = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])/y;

class Walker {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  walkDocument(): void {
    this.match(SPACE);
    this.walkValue();
    this.match(SPACE);
    if (this.at < this.text.length) throw this.fault('expected nothing after the object');
  }

  place(at: number): string {
    const before = this.text.slice(0, at);
    const line = before.split('\n').length;
    return `line ${line}, column ${at - before.lastIndexOf('\n')}`;
  }

  fault(because: string): Fault {
    return new Fault(`${this.place(this.at)}: ${because}`);
  }

  match(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  walkValue(): void {
    switch (this.text[this.at]) {
      case '{':
        this.walkObject();
        return;
      case '[':
        this.walkMembers(']', () => this.walkValue());
        return;
      case '"':
        this.walkString();
        return;
      default:
        if (!this.match(SCALAR)) throw this.fault('expected a value');
    }
  }

  walkObject(): void {
    const keys = new Set<string>();
    this.walkMembers('}', () => {
      const start = this.at;
      if (this.text[start] !== '"') throw this.fault('expected a key in double quotes');
      const key: unknown = JSON.parse(this.walkString());
      if (typeof key === 'string') {
        if (keys.has(key)) {
          const shown = JSON.stringify(key.slice(0, 64));
          throw new Fault(`the key ${shown} is given twice (${this.place(start)})`);
        }
        keys.add(key);
      }
      this.match(SPACE);
      if (this.text[this.at] !== ':') throw this.fault('expected ":"');
      this.at++;
      this.match(SPACE);
      this.walkValue();
    });
  }

  walkMembers(close: '}' | ']', walkMember: () => void): void {
    this.at++;
    this.match(SPACE);
    if (this.text[this.at] === close) {
      this.at++;
      return;
    }
    for (;;) {
      walkMember();
      this.match(SPACE);
      const character = this.text[this.at];
      if (character !== ',' && character !== close) throw this.fault(`expected "," or "${close}"`);
      this.at++;
      if (character === close) return;
      this.match(SPACE);
    }
  }

  /** @returns the string as written, with its quotes */
  walkString(): string {
    const start = this.at++;
    for (;;) {
      this.match(PLAIN);
      if (this.text[this.at] === '"') {
        this.at++;
        return this.text.slice(start, this.at);
      }
      if (this.at >= this.text.length) throw this.fault('a string does not end');
      if (!this.match(ESCAPE)) {
        const what = this.text[this.at] === '\\' ? 'unknown escape' : 'control character';
        throw this.fault(`${what} in a string`);
      }
    }
  }
}
