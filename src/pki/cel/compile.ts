import { type CelEnv, celEnv, parse, plan } from '@bufbuild/cel';
import { Budget } from './budget.ts';
import { makeFunctions, makeRegularExpressions, OF_FIELD, STEPS } from './functions.ts';
import { makeRegistry, NAMESPACE, TYPE_NAMES } from './messages.ts';
import { type CelProgram, checkProgram, GIVEN, MAX_EXPRESSION, refuseProgram } from './program.ts';

type Parsed = ReturnType<typeof parse>['expr'];
type Evaluation = ReturnType<typeof plan>;

/** An expression that can be evaluated, and what it is called in refusals. */
export interface Compiled {
  /** Of a variable; undefined for the main expression. */
  name: string | undefined;
  place: string;
  evaluate: Evaluation;
}

/** Parts of an expression that lie within each other, and all of them. */
const DEEPEST = 100;
const MOST_PARTS = 4_000;
/** Macros within macros, such as `a.all(x, b.exists(y, …))`. */
const DEEPEST_MACROS = 3;

const registry = makeRegistry();

/**
 * Compiles a program for one evaluation.
 *
 * @throws Failure `invalid` naming the expression that is wrong, and why
 */
export function compileProgram(program: CelProgram, budget = new Budget()): Compiled[] {
  checkProgram(program);
  const env = celEnv({
    namespace: NAMESPACE,
    registry,
    funcs: makeFunctions(budget),
    re2: makeRegularExpressions(budget),
  });
  const known = new Set<string>(GIVEN);
  const compiled = program.variables.map(({ name, expression }, index) => {
    const place = `variables[${index}] ${name}`;
    const evaluate = compileExpression(env, expression, place, known);
    known.add(name);
    return { name, place, evaluate };
  });
  const evaluate = compileExpression(env, program.expression, 'expression', known);
  return [...compiled, { name: undefined, place: 'expression', evaluate }];
}

function compileExpression(
  env: CelEnv,
  expression: string,
  place: string,
  known: ReadonlySet<string>,
): Evaluation {
  const broken = (error: unknown) => refuseProgram(`${place}: ${shortReason(error)}`);
  if (expression.length > MAX_EXPRESSION) {
    throw broken(new Error(`at most ${MAX_EXPRESSION} characters`));
  }
  requireShallow(expression, broken);
  try {
    const parsed = parse(expression);
    new PartWalk(env).visit(parsed.expr, { known, depth: 0, macros: 0 });
    return plan(env, parsed);
  } catch (error) {
    throw broken(error);
  }
}

export function shortReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const plain = text.replace(/^<input>:/, 'at ');
  return plain.length > 300 ? `${plain.slice(0, 300)}…` : plain;
}

/** Before it is read: the reader goes down as far as brackets and signs do, but for those in texts and comments. */
function requireShallow(expression: string, broken: (error: Error) => Error): void {
  let depth = 0;
  let deepest = 0;
  let questions = 0;
  for (let at = 0; at < expression.length; at += 1) {
    const one = expression.charAt(at);
    const end = one === '/' || one === '"' || one === "'" ? endOfText(expression, at) : undefined;
    if (end !== undefined) {
      at = end - 1;
      continue;
    }
    if ('([{'.includes(one)) depth += 1;
    if (')]}'.includes(one)) depth -= 1;
    if (one === '?') questions += 1;
    deepest = Math.max(deepest, depth + questions);
  }
  if (deepest > DEEPEST) throw broken(new Error('too many parts within each other'));
}

/** Where a text or a comment ends that begins there; undefined where none does that has an end. */
function endOfText(expression: string, begin: number): number | undefined {
  if (expression.startsWith('//', begin)) {
    const end = expression.slice(begin).search(NEW_LINE);
    return end < 0 ? expression.length : begin + end;
  }
  const quote = expression.charAt(begin);
  if (quote === '/') return undefined;
  const isRaw = /[rR]/.test(expression.charAt(begin - 1));
  const marks = expression.startsWith(quote.repeat(3), begin) ? quote.repeat(3) : quote;
  for (let at = begin + marks.length; at < expression.length; at += 1) {
    if (expression.startsWith(marks, at)) return at + marks.length;
    if (marks.length === 1 && NEW_LINE.test(expression.charAt(at))) return undefined;
    // Whatever is escaped: a quote at least ends nothing.
    if (!isRaw && expression.charAt(at) === '\\') at += 1;
  }
  return undefined;
}

const NEW_LINE = /[\n\r]/;

interface Within {
  known: ReadonlySet<string>;
  depth: number;
  macros: number;
}

/** Refuses what nobody has declared, and what would take too long. */
class PartWalk {
  readonly #env: CelEnv;
  #parts = 0;

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
    switch (exprKind.case) {
      case 'identExpr':
        requireKnown(exprKind.value.name, within.known);
        return;
      case 'selectExpr':
        this.visit(exprKind.value.operand, next);
        return;
      case 'callExpr':
        this.#requireFunction(exprKind.value.function);
        this.visit(exprKind.value.target, next);
        for (const one of exprKind.value.args) this.visit(one, next);
        return;
      case 'listExpr':
        for (const one of exprKind.value.elements) this.visit(one, next);
        return;
      case 'structExpr':
        requireMessage(exprKind.value);
        for (const entry of exprKind.value.entries) {
          if (entry.keyKind.case === 'mapKey') this.visit(entry.keyKind.value, next);
          this.visit(entry.value, next);
          if (entry.keyKind.case === 'fieldKey') entry.value = weighedField(entry.value);
        }
        return;
      case 'comprehensionExpr':
        this.#visitMacro(exprKind.value, next);
        return;
      default:
    }
  }

  #requireFunction(name: string): void {
    if (SYNTAX.has(name) || this.#env.funcs.find(name)) return;
    throw new Error(`there is no function ${JSON.stringify(name)}`);
  }

  #visitMacro(
    macro: Extract<Parsed['exprKind'], { case: 'comprehensionExpr' }>['value'],
    within: Within,
  ): void {
    const macros = within.macros + 1;
    if (macros > DEEPEST_MACROS) {
      throw new Error(`at most ${DEEPEST_MACROS} macros within each other`);
    }
    const known = new Set([...within.known, macro.iterVar, macro.iterVar2, macro.accuVar]);
    this.visit(macro.iterRange, within);
    this.visit(macro.accuInit, within);
    const inner = { ...within, known, macros };
    const before = this.#parts;
    this.visit(macro.loopCondition, inner);
    this.visit(macro.loopStep, inner);
    macro.loopCondition = countingSteps(macro.loopCondition, this.#parts - before);
    this.visit(macro.result, inner);
  }
}

/** The condition, which spends the steps of one round when it is asked. */
const countingSteps = (condition: Parsed | undefined, parts: number): Parsed | undefined =>
  condition && callOf(STEPS, `f(true, ${parts})`, condition);

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

function requireMessage({
  messageName,
  entries,
}: Extract<Parsed['exprKind'], { case: 'structExpr' }>['value']): void {
  if (messageName === '') return;
  const name = messageName.replace(/^[.]/, '');
  const message = registry.getMessage(`${NAMESPACE}.${name}`) ?? registry.getMessage(name);
  if (!message) throw new Error(`there is no type ${JSON.stringify(name)}`);
  const known = new Set(message.fields.map((field) => field.name));
  for (const { keyKind } of entries) {
    if (keyKind.case !== 'fieldKey' || known.has(keyKind.value)) continue;
    throw new Error(`${name} has no field ${JSON.stringify(keyKind.value)}`);
  }
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
