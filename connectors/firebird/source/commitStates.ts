/**
 * Whether a transaction whose COMMIT is in the journal is committed in the database. Firebird writes the COMMIT to the journal before it commits: a
 * server that is killed in between rolls back what its journal says is committed. So the database has the last word, in its own commit numbers
 * (Firebird 4). One question answers for all transactions of a range, so that a reader that lags asks seldom.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Session } from '../session.ts';

/** `open`: still to be decided. `unknown`: the database has never given out that number. */
export type CommitState = 'committed' | 'rolled back' | 'open' | 'unknown';

/** What is known of a range of transactions: all of [from, to) that `others` does not have are committed. */
export interface CommitAnswer {
  readonly from: number;
  readonly to: number;
  readonly others: ReadonlyMap<number, CommitState>;
}

/** Numbers of a range: enough for a long journal, and answered in some 10 ms. */
const RANGE = 50_000;
/** Commits come nearly in the order of numbers. */
const SLACK = 1000;
const NOTHING: CommitAnswer = { from: 0, to: 0, others: new Map() };

const DEAD = -2;
const OPEN: readonly number[] = [0, -1];

export class CommitStates {
  readonly #ask: (from: number, to: number) => Promise<CommitAnswer>;
  #known = NOTHING;

  constructor(ask: (from: number, to: number) => Promise<CommitAnswer>) {
    this.#ask = ask;
  }

  async of(transaction: number): Promise<CommitState> {
    const known = stateIn(this.#known, transaction);
    if (known === 'committed' || known === 'rolled back') return known;
    // One that began long ago must not cost what is known of the others.
    if (transaction < this.#known.from) return stateIn(await this.#ask(transaction, transaction + 1), transaction);
    const from = Math.max(1, transaction - SLACK);
    this.#known = await this.#ask(from, from + RANGE);
    return stateIn(this.#known, transaction);
  }
}

function stateIn({ from, to, others }: CommitAnswer, transaction: number): CommitState {
  if (transaction < from || transaction >= to) return 'unknown';
  return others.get(transaction) ?? 'committed';
}

/** Asks the database of a GUID; it answers for what is below the number of the transaction that asks: the others are not given out yet. */
export async function askCommitStates(session: Session, guid: string, from: number, to: number): Promise<CommitAnswer> {
  const rows = await session.use(database =>
    database.queryAsync<{ TNX: unknown; CN: unknown; GUID: unknown }>(
      `execute block returns (tnx bigint, cn bigint, guid varchar(40)) as
       begin
         tnx = ${from};
         while (tnx < ${to} and tnx < current_transaction) do
         begin
           cn = rdb$get_transaction_cn(tnx);
           if (cn is null or cn < 1) then suspend;
           tnx = tnx + 1;
         end
         cn = null;
         guid = rdb$get_context('SYSTEM', 'DB_GUID');
         suspend;
       end`,
    ),
  );
  // The last row tells how far the answer goes, and who gave it.
  const last = rows.pop()!;
  if (String(last.GUID) !== guid) {
    throw new ConnectError(
      'FB_METADATA_INVALID',
      `The database is ${String(last.GUID)}, the journal that is followed is of database ${guid}. Correct database.dbname; for another database reset the offsets of the connector.`,
    );
  }
  return { from, to: Number(last.TNX), others: new Map(rows.map(({ TNX, CN }) => [Number(TNX), stateOf(CN)])) };
}

function stateOf(commitNumber: unknown): CommitState {
  if (commitNumber === null) return 'unknown';
  const number = Number(commitNumber);
  if (number === DEAD) return 'rolled back';
  return OPEN.includes(number) ? 'open' : 'unknown';
}
