import { type CelEnv, parse } from '@bufbuild/cel';
import type { DescMessage } from '@bufbuild/protobuf';
import { INDEXED, OF_FIELD, RANGE, STEPS } from './functions.ts';
import { makeRegistry, NAMESPACE, TYPE_NAMES } from './messages.ts';

type Parsed = ReturnType<typeof parse>['expr'];

/** Parts of an expression that lie within each other, and all of them. */
export const DEEPEST = 100;
const MOST_PARTS = 4_000;
/** Macros within macros, such as `a.all(x, b.exists(y, …))`. */
const DEEPEST_MACROS = 3;

/** The messages that programs are written with. */
export const registry = makeRegistry();

/** Messages that lie within others, by the names of their fields; no name has two of different length. */
const INNER_MESSAGES = new Map(
  [...registry]
    .filter((type) => type.kind === 'message')
    .flatMap(({ fields }) => fields)
    .filter((field) => field.fieldKind === 'message')
    .map((field) => [field.name, field.message]),
);

interface Within {
  known: ReadonlySet<string>;
  depth: number;
  macros: number;
}

/**
 * Steps of a part that fails and is heard no more of, as in `x.none || true`: to make an error takes longer than most
 * parts do. There is one for each side of `||` and `&&`, and for each round of a macro, which goes on after it.
 */
const ERROR_STEPS = 8;
/** Of `.` in a path: each longer beginning of it might be the name of something. */
const SELECT_STEPS = 4;
/** Of `CertTemplate{}`, besides those of its fields. */
const MESSAGE_STEPS = 16;
/** What it takes in memory, in characters, and each of its fields does. */
const MESSAGE_MADE = 16;
const FIELD_MADE = 4;
/** Characters of a name that are looked at in one step. */
const NAME_STEP = 64;

/** Refuses what nobody has declared, and what would take too long; says what each round of a macro takes and makes. */
export class PartWalk {
  readonly #env: CelEnv;
  #parts = 0;
  #steps = 0;
  /** In characters: of lists, maps and messages that are written out or taken. */
  #made = 0;

  constructor(env: CelEnv) {
    this.#env = env;
  }

  visit(part: Parsed | undefined, within: Within): void {
    if (!part) return;
    this.#parts += 1;
    if (this.#parts > MOST_PARTS) throw new Error(`it has more than ${MOST_PARTS} parts`);
    if (within.depth > DEEPEST) throw new Error('too many parts within each other');
    const { exprKind } = part;
    const next = { ...within, depth: within.depth + 1 };
    this.#steps += 1;
    switch (exprKind.case) {
      case 'identExpr':
        requireKnown(exprKind.value.name, within.known);
        this.#steps += stepsOfName(exprKind.value.name);
        return;
      case 'selectExpr':
        this.#steps += SELECT_STEPS + stepsOfName(exprKind.value.field);
        // A message that is not set is made anew each time.
        this.#addMessage(INNER_MESSAGES.get(exprKind.value.field));
        this.visit(exprKind.value.operand, next);
        return;
      case 'callExpr':
        this.#visitCall(exprKind.value, next);
        return;
      case 'listExpr':
        this.#made += 2 + (exprKind.value.elements.length >> 1);
        for (const one of exprKind.value.elements) this.visit(one, next);
        return;
      case 'structExpr':
        this.#visitStruct(exprKind.value, next);
        return;
      case 'comprehensionExpr':
        this.#visitMacro(exprKind.value, next);
        return;
      default:
    }
  }

  #visitCall(call: Kind<'callExpr'>, within: Within): void {
    this.#requireFunction(call.function);
    this.visit(call.target, within);
    for (const one of call.args) this.visit(one, within);
    if (LOGICAL.has(call.function)) {
      const mayFail = call.args.filter(({ exprKind }) => exprKind.case !== 'identExpr');
      this.#steps += ERROR_STEPS * mayFail.length;
    }
    const [of, index] = call.args;
    if (call.function !== '_[_]' || !of || isText(index)) return;
    call.args[0] = callOf(INDEXED, 'f(true)', of);
  }

  #visitStruct(struct: Kind<'structExpr'>, within: Within): void {
    const message = requireMessage(struct);
    this.#addMessage(message);
    if (!message) this.#made += 8 + 2 * struct.entries.length;
    for (const entry of struct.entries) {
      if (entry.keyKind.case === 'mapKey') this.visit(entry.keyKind.value, within);
      this.visit(entry.value, within);
      if (entry.keyKind.case === 'fieldKey') entry.value = weighedField(entry.value);
    }
  }

  #addMessage(message: DescMessage | undefined): void {
    if (!message) return;
    this.#steps += MESSAGE_STEPS + message.fields.length;
    this.#made += MESSAGE_MADE + FIELD_MADE * message.fields.length;
  }

  #requireFunction(name: string): void {
    if (SYNTAX.has(name) || this.#env.funcs.find(name)) return;
    throw new Error(`there is no function ${JSON.stringify(name)}`);
  }

  #visitMacro(macro: Kind<'comprehensionExpr'>, within: Within): void {
    const macros = within.macros + 1;
    if (macros > DEEPEST_MACROS) {
      throw new Error(`at most ${DEEPEST_MACROS} macros within each other`);
    }
    const known = new Set([...within.known, macro.iterVar, macro.iterVar2, macro.accuVar]);
    this.visit(macro.iterRange, within);
    if (macro.iterRange) macro.iterRange = callOf(RANGE, 'f(true)', macro.iterRange);
    this.visit(macro.accuInit, within);
    const inner = { ...within, known, macros };
    const [steps, made] = [this.#steps, this.#made];
    // What `all` and `exists` ask is a side of such a sign already.
    if (!isLogical(macro.loopStep)) this.#steps += ERROR_STEPS;
    this.visit(macro.loopCondition, inner);
    this.visit(macro.loopStep, inner);
    const round = { steps: this.#steps - steps, made: this.#made - made };
    macro.loopCondition = countingRound(macro.loopCondition, round);
    this.visit(macro.result, inner);
  }
}

type Kind<Case extends Parsed['exprKind']['case']> = Extract<
  Parsed['exprKind'],
  { case: Case }
>['value'];

const LOGICAL = new Set(['_||_', '_&&_']);

const isLogical = (part: Parsed | undefined): boolean =>
  part?.exprKind.case === 'callExpr' && LOGICAL.has(part.exprKind.value.function);

const stepsOfName = (name: string): number => Math.floor(name.length / NAME_STEP);

const isText = (part: Parsed | undefined): boolean =>
  part?.exprKind.case === 'constExpr' && part.exprKind.value.constantKind.case === 'stringValue';

/** The condition, which spends what one round takes and makes when it is asked. */
const countingRound = (
  condition: Parsed | undefined,
  { steps, made }: { steps: number; made: number },
): Parsed | undefined => condition && callOf(STEPS, `f(true, ${steps}, ${made})`, condition);

/** What is put into a field of a message, which spends what that takes. */
const weighedField = (value: Parsed | undefined): Parsed | undefined =>
  value && callOf(OF_FIELD, 'f(true)', value);

/** A call of a function that no program can name, of a part that there is already. */
function callOf(name: string, form: string, part: Parsed): Parsed {
  const { expr } = parse(form);
  if (expr.exprKind.case !== 'callExpr') throw new Error('a call is no call');
  expr.exprKind.value.function = name;
  expr.exprKind.value.args[0] = part;
  return expr;
}

/** What the language itself does. */
const SYNTAX = new Set(['_[_]', '_?_:_', '_&&_', '_||_', '@not_strictly_false']);

/** @returns undefined for a map */
function requireMessage({ messageName, entries }: Kind<'structExpr'>): DescMessage | undefined {
  if (messageName === '') return undefined;
  const name = messageName.replace(/^[.]/, '');
  const message = registry.getMessage(`${NAMESPACE}.${name}`) ?? registry.getMessage(name);
  if (!message) throw new Error(`there is no type ${JSON.stringify(name)}`);
  const known = new Set(message.fields.map((field) => field.name));
  for (const { keyKind } of entries) {
    if (keyKind.case !== 'fieldKey' || known.has(keyKind.value)) continue;
    throw new Error(`${name} has no field ${JSON.stringify(keyKind.value)}`);
  }
  return message;
}

/** Types that expressions may name, e.g. `type(request.ttl) == string`. */
const TYPES = new Set(
  'int uint double bool string bytes list map null_type type timestamp duration'.split(' '),
);

function requireKnown(name: string, known: ReadonlySet<string>): void {
  const plain = name.startsWith('.') ? name.slice(1) : name;
  if (known.has(plain) || TYPES.has(plain) || TYPE_NAMES.has(plain)) return;
  throw new Error(
    `${JSON.stringify(name)} is not known here: variables are known after their place`,
  );
}
