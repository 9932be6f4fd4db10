import type { App } from '../app/app.ts';
import { inOnePlace, notedInOnePlace } from '../app/one-for-all.ts';
import { SharedTexts } from '../core/shared-texts.ts';

const expect = notedInOnePlace('audit/expect', ({ audit }, _: undefined) => audit.expect());
const recover = inOnePlace('audit/recover', ({ audit }, _: undefined) => audit.recover());

/** Has the thread that supervises write the records of this one. @param shared that it collects from */
export function handRecordsOn(app: App, shared: SharedArrayBuffer): void {
  app.audit.handOn({
    records: new SharedTexts(shared),
    tell: () => expect(app, undefined),
    recover: () => recover(app, undefined),
  });
}

/** Writes what a thread hands on. @returns takes the last of it, once the thread has ended */
export const collectRecords = ({ audit }: App, from: SharedTexts): (() => void) =>
  audit.collect(from);
