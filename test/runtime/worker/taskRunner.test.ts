import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskControl } from '../../../runtime/worker/taskRunner.ts';

function control(): { readonly control: TaskControl; readonly told: string[] } {
  const told: string[] = [];
  const listener = { taskState: () => {}, topicUsed: (_: unknown, topic: string) => told.push(topic) };
  return { control: new TaskControl({ connector: 'c', task: 0 }, 'STARTED', listener), told };
}

test('a topic is reported once, and again when it is used after it was to be forgotten', () => {
  const { control: task, told } = control();
  task.topicUsed('a');
  task.topicUsed('a');
  assert.deepEqual(told, ['a']);
  task.forgetTopics(Date.now() + 1);
  assert.deepEqual(told, ['a']);
  task.topicUsed('a');
  assert.deepEqual(told, ['a', 'a']);
});

test('a topic that was used while the word to forget it was on its way is reported at once', () => {
  const { control: task, told } = control();
  task.topicUsed('a');
  task.forgetTopics(Date.now() - 1000);
  assert.deepEqual(told, ['a', 'a']);
  task.topicUsed('a');
  assert.deepEqual(told, ['a', 'a']);
});
