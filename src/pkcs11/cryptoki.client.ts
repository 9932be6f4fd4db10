import { DynamicLibrary } from 'node:ffi';
import { CKF, CKR, CKU_USER, LOST, nameOfResult, PIN_REFUSED } from './constants.ts';
import type { Mechanism } from './mechanisms.ts';
import { RefusedOrder } from './orders.ts';
import { attributeTemplate, structureOf, ULONG, ulong } from './structures.ts';

// The functions of a PKCS #11 module, called as they are: the thread waits for each. Numbers are CK_ULONG of
// eight bytes and structures are not packed, as everywhere but on Windows.

/** An attribute to look for, or to make an object with. */
export interface Attribute {
  type: number;
  value: Uint8Array;
}

const POINTER = 'pointer';
const SIGNATURES = {
  C_Initialize: [POINTER],
  C_Finalize: [POINTER],
  C_GetSlotList: ['uint8', POINTER, POINTER],
  C_GetTokenInfo: ['uint64', POINTER],
  C_OpenSession: ['uint64', 'uint64', POINTER, POINTER, POINTER],
  C_CloseAllSessions: ['uint64'],
  C_Login: ['uint64', 'uint64', POINTER, 'uint64'],
  C_Logout: ['uint64'],
  C_FindObjectsInit: ['uint64', POINTER, 'uint64'],
  C_FindObjects: ['uint64', POINTER, 'uint64', POINTER],
  C_FindObjectsFinal: ['uint64'],
  C_GetAttributeValue: ['uint64', 'uint64', POINTER, 'uint64'],
  C_GenerateKeyPair: [
    ...['uint64', POINTER, POINTER, 'uint64', POINTER, 'uint64', POINTER, POINTER],
  ] as ('uint64' | 'pointer')[],
  C_GenerateKey: ['uint64', POINTER, POINTER, 'uint64', POINTER],
  C_SignInit: ['uint64', POINTER, 'uint64'],
  C_Sign: ['uint64', POINTER, 'uint64', POINTER, POINTER],
  C_EncryptInit: ['uint64', POINTER, 'uint64'],
  C_Encrypt: ['uint64', POINTER, 'uint64', POINTER, POINTER],
  C_DecryptInit: ['uint64', POINTER, 'uint64'],
  C_Decrypt: ['uint64', POINTER, 'uint64', POINTER, POINTER],
} as const satisfies Record<string, readonly ('uint8' | 'uint64' | 'pointer')[]>;

type FunctionName = keyof typeof SIGNATURES;
type Argument = number | bigint | Uint8Array | null;

/** Answers of several parts are at most so long: a signature, or a key of the server that is wrapped. */
const OUTPUT_ROOM = 8_192;
/** Of one attribute. */
const ATTRIBUTE_ROOM = 4_096;
const TOKEN_INFO_BYTES = 256;
const LABEL_BYTES = 32;
/** After the label, the manufacturer, the model and the serial number. */
const TOKEN_FLAGS_AT = 96;
const MOST_SLOTS = 256;
/** Objects of one name that are told apart. */
const MOST_OBJECTS = 16;

/** A loaded module. */
export class Cryptoki {
  readonly #functions = new Map<FunctionName, (...given: Argument[]) => bigint>();

  /** @throws RefusedOrder when there is no such module, or it lacks a function */
  constructor(path: string) {
    try {
      const library = new DynamicLibrary(path);
      for (const [name, given] of Object.entries(SIGNATURES)) {
        const call = library.getFunction(name, { arguments: [...given], return: 'uint64' });
        this.#functions.set(name as FunctionName, call as (...given: Argument[]) => bigint);
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new RefusedOrder('module', `the module cannot be loaded: ${why.slice(0, 512)}`);
    }
    const options = structureOf(0n, 0n, 0n, 0n, CKF.OS_LOCKING_OK, 0n);
    this.#call('C_Initialize', options);
  }

  finalize(): void {
    this.#ask('C_Finalize', null);
  }

  /** Slots with a token in them, and the labels of those. */
  listTokens(): { slot: bigint; label: string }[] {
    const count = ulong(BigInt(MOST_SLOTS));
    const slots = Buffer.alloc(MOST_SLOTS * ULONG);
    this.#call('C_GetSlotList', 1, slots, count);
    const found = Math.min(MOST_SLOTS, Number(count.readBigUInt64LE()));
    return Array.from({ length: found }, (_, at) => {
      const slot = slots.readBigUInt64LE(at * ULONG);
      const info = Buffer.alloc(TOKEN_INFO_BYTES);
      const answer = this.#ask('C_GetTokenInfo', slot, info);
      // One that was just taken out has no label.
      const label = answer === 'CKR_OK' ? info.toString('utf8', 0, LABEL_BYTES).trimEnd() : '';
      return { slot, label };
    });
  }

  /** CKF_… of the token in a slot. */
  readTokenFlags(slot: bigint): bigint {
    const info = Buffer.alloc(TOKEN_INFO_BYTES);
    this.#call('C_GetTokenInfo', slot, info);
    return info.readBigUInt64LE(TOKEN_FLAGS_AT);
  }

  openSession(slot: bigint, mayWrite: boolean): bigint {
    const session = ulong(0n);
    const flags = CKF.SERIAL_SESSION | (mayWrite ? CKF.RW_SESSION : 0);
    this.#call('C_OpenSession', slot, BigInt(flags), null, null, session);
    return session.readBigUInt64LE();
  }

  closeSessions(slot: bigint): void {
    this.#ask('C_CloseAllSessions', slot);
  }

  login(session: bigint, pin: string): void {
    const bytes = Buffer.from(pin, 'utf8');
    const ask = () => this.#ask('C_Login', session, BigInt(CKU_USER), bytes, BigInt(bytes.length));
    let answer = ask();
    if (answer === 'CKR_USER_ALREADY_LOGGED_IN') {
      // By whatever PIN that was: this one has not been looked at.
      this.logout(session);
      answer = ask();
    }
    bytes.fill(0);
    requireOk('C_Login', answer);
  }

  logout(session: bigint): void {
    this.#ask('C_Logout', session);
  }

  /** Handles of the objects with all of the attributes, as far as they are told apart. */
  findObjects(session: bigint, attributes: readonly Attribute[]): bigint[] {
    const template = attributeTemplate(attributes);
    this.#call('C_FindObjectsInit', session, template, BigInt(attributes.length));
    const found = Buffer.alloc(MOST_OBJECTS * ULONG);
    const count = ulong(0n);
    this.#call('C_FindObjects', session, found, BigInt(MOST_OBJECTS), count);
    this.#ask('C_FindObjectsFinal', session);
    const many = Math.min(MOST_OBJECTS, Number(count.readBigUInt64LE()));
    return Array.from({ length: many }, (_, at) => found.readBigUInt64LE(at * ULONG));
  }

  /** The value of one attribute; undefined where the object has none, or does not tell it. */
  readAttribute(session: bigint, object: bigint, type: number): Buffer | undefined {
    const room = Buffer.alloc(ATTRIBUTE_ROOM);
    const template = attributeTemplate([{ type, value: room }]);
    const answer = this.#ask('C_GetAttributeValue', session, object, template, 1n);
    if (answer === 'CKR_ATTRIBUTE_TYPE_INVALID' || answer === 'CKR_ATTRIBUTE_SENSITIVE') {
      return undefined;
    }
    requireOk('C_GetAttributeValue', answer);
    const length = template.readBigUInt64LE(2 * ULONG);
    return length > ATTRIBUTE_ROOM ? undefined : room.subarray(0, Number(length));
  }

  generateKeyPair(
    session: bigint,
    mechanism: number,
    templates: { public_key: readonly Attribute[]; private_key: readonly Attribute[] },
  ): void {
    const how = structureOf(mechanism, 0n, 0n);
    const [open, secret] = [
      attributeTemplate(templates.public_key),
      attributeTemplate(templates.private_key),
    ];
    this.#call(
      'C_GenerateKeyPair',
      ...[session, how],
      ...[open, BigInt(templates.public_key.length)],
      ...[secret, BigInt(templates.private_key.length)],
      ...[ulong(0n), ulong(0n)],
    );
  }

  generateKey(session: bigint, mechanism: number, template: readonly Attribute[]): void {
    const how = structureOf(mechanism, 0n, 0n);
    const wanted = attributeTemplate(template);
    const count = BigInt(template.length);
    this.#call('C_GenerateKey', session, how, wanted, count, ulong(0n));
  }

  /** What comes of bytes by a key. */
  process(
    what: 'Sign' | 'Encrypt' | 'Decrypt',
    { session, mechanism, key }: { session: bigint; mechanism: Mechanism; key: bigint },
    data: Uint8Array,
  ): Uint8Array {
    const { type, parameter } = mechanism;
    const how = structureOf(type, parameter ?? 0n, parameter?.length ?? 0);
    this.#call(`C_${what}Init`, session, how, key);
    const input = Buffer.alloc(Math.max(1, data.length));
    input.set(data);
    const output = Buffer.alloc(OUTPUT_ROOM);
    const length = ulong(BigInt(OUTPUT_ROOM));
    this.#call(`C_${what}`, session, input, BigInt(data.length), output, length);
    if (what !== 'Sign') input.fill(0);
    return Uint8Array.from(output.subarray(0, Number(length.readBigUInt64LE())));
  }

  #ask(name: FunctionName, ...given: Argument[]): string {
    const call = this.#functions.get(name);
    if (!call) throw new Error(`${name} was not resolved`);
    return nameOfResult(Number(call(...given)));
  }

  #call(name: FunctionName, ...given: Argument[]): void {
    requireOk(name, this.#ask(name, ...given));
  }
}

function requireOk(name: string, answer: string): void {
  if (CKR[answer] === CKR.CKR_OK) return;
  const refusal = PIN_REFUSED.has(answer) ? 'pin' : LOST.has(answer) ? 'lost' : 'mechanism';
  throw new RefusedOrder(refusal, `${name} answered ${answer}`);
}
