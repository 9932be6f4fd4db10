import { doFor } from '../core/fairness/asking.ts';
import { afterOthers } from '../core/fairness/breath.ts';
import { SHARED_PARTY } from '../core/fairness/party.ts';
import type { Soon } from '../core/steps.ts';
import {
  findSubjectVersion,
  listSubjectVersions,
  type MountSubject,
  type Subject,
} from './config-subject.ts';
import type { Store } from './store.ts';

/** What is kept of configuration, and told of its versions. */
export interface ConfigCache {
  /**
   * Configuration that the hot path needs, loaded once and forgotten when any node changes
   * configuration (`config_version`). Never for anything that must be exact at each request.
   *
   * @param subjects all that is read: given them, only a change of one of them has it loaded anew
   */
  cached<T>(key: string, load: () => Promise<T>, subjects?: readonly Subject[]): Soon<T>;
  /**
   * The number that grows with each change of what a mount is configured with, for what is kept by it;
   * undefined for a mount that is not there. It is asked for before anything else is read of it.
   */
  versionOf(subject: MountSubject): Soon<number | undefined>;
}

/** A value that stays as long as its subjects do not change. */
interface Lasting {
  /** Of its subjects together, read before the value was. */
  version: number;
  value: Promise<unknown>;
}

/**
 * Values loaded since configuration last changed, on any node, or since the last unsealing. Those that
 * name their subjects are taken over from before the change if it was about others.
 */
export function cacheConfig(
  store: Pick<Store, 'engine' | 'db' | 'configVersion' | 'onConfigChange' | 'catchUp'>,
  barrier: { onSeal(listener: () => void): void },
): ConfigCache {
  // A promise is of what is being loaded.
  let values = new Map<string, unknown>();
  let lasting = new Map<string, Lasting>();
  const forget = (): void => {
    values = new Map();
  };
  store.onConfigChange(forget);
  barrier.onSeal(() => {
    forget();
    lasting = new Map();
  });
  const keep = <T>(key: string, load: () => Promise<T>): Promise<T> => {
    // What was loaded before a change belongs to the former map, which nobody reads again.
    const into = values;
    // As everybody's work: all wait for it, whoever asked first.
    const loading = doFor(SHARED_PARTY, load);
    into.set(key, loading);
    loading.then(
      (value) => into.set(key, value),
      () => into.delete(key),
    );
    return loading;
  };
  const find = <T>(key: string, load: () => Promise<T>, subjects?: readonly Subject[]): Soon<T> => {
    store.catchUp();
    const known = values.get(key) as Soon<T> | undefined;
    if (known instanceof Promise) return afterOthers(known);
    if (known !== undefined || values.has(key)) return known as T;
    return keep(key, subjects ? () => findLasting(key, load, subjects) : load);
  };
  const versionOf: ConfigCache['versionOf'] = (subject) =>
    find(`version of ${subject}`, () => findSubjectVersion(store.db, subject));
  const findLasting = async <T>(
    key: string,
    load: () => Promise<T>,
    subjects: readonly Subject[],
  ): Promise<T> => {
    const into = lasting;
    // Before the value: then it is never older than the version that it goes by.
    const versions = await find('versions of subjects', () => listSubjectVersions(store.db));
    if (!subjects.every((subject) => versions.has(subject))) return load();
    // Each only grows, so that the sum is another one whenever one of them is.
    const current = subjects.reduce((all, subject) => all + (versions.get(subject) ?? 0), 0);
    const before = into.get(key);
    // A newer one was loaded by somebody who came after a change that this request need not see.
    if (before && before.version >= current) return before.value as Promise<T>;
    const loading = load();
    into.set(key, { version: current, value: loading });
    loading.catch(() => {
      if (into.get(key)?.value === loading) into.delete(key);
    });
    return loading;
  };
  // A SQLite directory belongs to this process alone, so every change passes through here. What is known is
  // handed on as it is: a request asks a dozen times, and each promise takes as long as some twenty look-ups.
  if (store.engine !== 'postgres') return { cached: find, versionOf };
  return follow(store, forget, { cached: find, versionOf });
}

/** What other nodes change is seen by asking for the version first. */
function follow(
  store: Pick<Store, 'configVersion'>,
  forget: () => void,
  { cached, versionOf }: ConfigCache,
): ConfigCache {
  let version: number | undefined;
  const catchUp = async (): Promise<void> => {
    const current = await store.configVersion();
    if (current !== version) forget();
    version = current;
  };
  return {
    async cached(key, load, subjects) {
      await catchUp();
      return cached(key, load, subjects);
    },
    async versionOf(subject) {
      await catchUp();
      return versionOf(subject);
    },
  };
}
