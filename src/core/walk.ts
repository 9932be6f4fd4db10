/** How a walk over many stored rows reads its pages: at once, or when its turn has come. */
export type ReadPage = <Page>(page: () => Promise<Page>) => Promise<Page>;

/** For what is short, or waits for nobody. */
export const readAtOnce: ReadPage = (page) => page();
