import type { FailureDetail, FailureKind } from '../../core/failure.ts';
import { compileProgram } from './compile.ts';
import { type CelQuestion, type CelVerdict, evaluateProgram } from './evaluate.ts';
import type { CelProgram } from './program.ts';

export type CelTask =
  | { kind: 'compile'; program: CelProgram }
  | { kind: 'evaluate'; question: CelQuestion };

/** @throws Failure `invalid` for a program that cannot be compiled or evaluated */
export function runCelTask(task: CelTask): CelVerdict | undefined {
  if (task.kind === 'evaluate') return evaluateProgram(task.question);
  compileProgram(task.program);
}

export interface ToCelThread {
  id: number;
  task: CelTask;
}

export type FromCelThread =
  | { id: number; type: 'done'; verdict: CelVerdict | undefined }
  | { id: number; type: 'refused'; kind: FailureKind; message: string; detail: FailureDetail }
  | { id: number; type: 'failed'; message: string };
