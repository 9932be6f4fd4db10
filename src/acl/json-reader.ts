import type { HclItem, HclNode, HclObject } from './hcl-tree.ts';
import { IDENTIFIER, quote, SPACE, TextReader } from './text-reader.ts';

const JSON_NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;

/** The JSON equivalent of HCL. */
export class JsonReader extends TextReader {
  readDocument(): HclObject {
    this.match(SPACE);
    const root = this.readJsonObject();
    this.match(SPACE);
    if (this.at < this.text.length) throw this.refusal('expected nothing after the JSON object');
    return root;
  }

  readJsonValue(): HclNode {
    const at = this.at;
    switch (this.text[at]) {
      case '"':
        return { kind: 'string', value: this.readString('json'), at };
      case '[':
        return this.readJsonList();
      case '{':
        return this.readJsonObject();
    }
    const number = this.match(JSON_NUMBER);
    if (number) return this.numberNode(number[0], at);
    const word = this.match(IDENTIFIER)?.[0];
    if (word === 'true' || word === 'false') return { kind: 'bool', value: word === 'true', at };
    if (word === 'null') return { kind: 'null', at };
    this.at = at;
    throw this.refusal(`expected a JSON value, found ${word ?? this.found()}`);
  }

  readJsonObject(): HclObject {
    const at = this.at;
    const items: HclItem[] = [];
    this.readJsonMembers('}', () => {
      const itemAt = this.at;
      if (this.text[this.at] !== '"') {
        throw this.refusal(`expected a key in double quotes, found ${this.found()}`);
      }
      const key = this.readString('json');
      this.match(SPACE);
      if (this.text[this.at] !== ':') {
        throw this.refusal(`expected ":" after ${quote(key)}, found ${this.found()}`);
      }
      this.at++;
      this.match(SPACE);
      items.push({ key, labels: [], value: this.readJsonValue(), at: itemAt });
    });
    return { kind: 'object', items, at };
  }

  readJsonList(): HclNode {
    const at = this.at;
    const items: HclNode[] = [];
    this.readJsonMembers(']', () => items.push(this.readJsonValue()));
    return { kind: 'list', items, at };
  }

  readJsonMembers(close: '}' | ']', readMember: () => void): void {
    this.enter();
    this.at++;
    this.match(SPACE);
    if (this.text[this.at] === close) {
      this.at++;
    } else {
      for (;;) {
        readMember();
        this.match(SPACE);
        const character = this.text[this.at];
        if (character !== ',' && character !== close) {
          throw this.refusal(`expected "," or "${close}", found ${this.found()}`);
        }
        this.at++;
        if (character === close) break;
        this.match(SPACE);
      }
    }
    this.depth--;
  }
}
