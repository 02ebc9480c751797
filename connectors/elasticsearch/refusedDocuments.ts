/** What becomes of records whose documents the target did not take: they fail the task, are reported, or are left out and counted, as the configuration says. */
import { ConnectError, partitionOf, type SinkBatch, type SinkTaskContext } from '../../runtime/api/index.ts';
import type { RowLog } from '../shared/rowLog.ts';
import type { FailedRow } from './bulkAnswer.ts';
import type { RowForms } from './bulkRows.ts';
import type { SinkSettings } from './config.ts';
import { LimitedWarning } from './limitedWarning.ts';

export class RefusedDocuments {
  readonly #settings: SinkSettings;
  readonly #forms: RowForms;
  readonly #context: SinkTaskContext;
  readonly #toDeadLetters: boolean;
  readonly #malformed: LimitedWarning;
  readonly #stale: LimitedWarning;

  constructor(settings: SinkSettings, forms: RowForms, context: SinkTaskContext) {
    this.#settings = settings;
    this.#forms = forms;
    this.#context = context;
    this.#toDeadLetters = context.config['errors.tolerance']?.toLowerCase() === 'all';
    this.#malformed = new LimitedWarning(
      context.logger,
      'the target refused a document, which is left out (behavior.on.malformed.documents)',
    );
    this.#stale = new LimitedWarning(
      context.logger,
      'the target has a newer version of a document than the record that was to be written, or another document of the same version; the record is left out; after a restart that is as it should be, otherwise the topic was made anew, or its keys come from several partitions: see external.version.header and document.version',
    );
  }

  /** Returns when the record is safe elsewhere or may be left out; throws to fail the task. */
  async take(log: RowLog, failed: FailedRow): Promise<void> {
    switch (failed.kind) {
      case 'known':
        this.#context.metrics.count('documents_known');
        return;
      case 'stale':
        await this.#takeStale(log, failed);
        return;
      case 'malformed':
        await this.#takeMalformed(log, failed);
    }
  }

  async #takeStale(log: RowLog, failed: FailedRow): Promise<void> {
    const { onConflict } = this.#settings;
    this.#context.metrics.count('version_conflicts');
    if (onConflict === 'ignore') return;
    // The id may be a value of a row; the place tells which record it was.
    const { batch, index, place } = this.#origin(log, failed);
    if (onConflict === 'warn') {
      this.#stale.warn({ ...place, ...failed.versions });
      return;
    }
    const error = new ConnectError(
      'SINK_VERSION_CONFLICT',
      `the target has version ${failed.versions?.stored ?? 'unknown'} of the document, and the record has ${failed.versions?.offered ?? 'an older one'}; correct the source of versions (external.version.header, document.version), or set behavior.on.version.conflict=warn`,
      { place },
    );
    if (onConflict === 'fail') throw error;
    await this.#context.reportErrantRecord(batch.record(index), error);
  }

  async #takeMalformed(log: RowLog, failed: FailedRow): Promise<void> {
    const { onMalformed } = this.#settings;
    const { batch, index, place } = this.#origin(log, failed);
    this.#context.metrics.count('rejected_records');
    const isLeftOut = onMalformed === 'ignore' || onMalformed === 'warn';
    if (onMalformed === 'warn') this.#malformed.warn({ ...place, reason: failed.reason });
    if (isLeftOut && !this.#toDeadLetters) return;
    const error = new ConnectError(
      'SINK_RECORD_REJECTED',
      `the target refused the document: ${failed.reason}; correct the record or the mapping of the index, set behavior.on.malformed.documents=warn to leave such records out, or send them to a dead letter queue with errors.tolerance=all`,
      { place },
    );
    await this.#context.reportErrantRecord(batch.record(index), error);
  }

  #origin(log: RowLog, { row, field }: FailedRow) {
    const batch = log.origins[log.originIds[row]!] as SinkBatch;
    const index = log.originIndexes[row]!;
    const { target } = this.#forms.get(log.shapes[row]!);
    const place = { ...partitionOf(batch), offset: batch.offset(index), table: target, column: field };
    return { batch, index, place };
  }
}
