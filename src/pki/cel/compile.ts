import { type CelEnv, celEnv, parse, plan } from '@bufbuild/cel';
import { Budget } from './budget.ts';
import { makeFunctions, makeRegularExpressions } from './functions.ts';
import { NAMESPACE } from './messages.ts';
import { DEEPEST, PartWalk, registry } from './parts.ts';
import { type CelProgram, checkProgram, GIVEN, MAX_EXPRESSION, refuseProgram } from './program.ts';

type Evaluation = ReturnType<typeof plan>;

/** An expression that can be evaluated, and what it is called in refusals. */
export interface Compiled {
  /** Of a variable; undefined for the main expression. */
  name: string | undefined;
  place: string;
  evaluate: Evaluation;
}

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
