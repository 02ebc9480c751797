import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;

/**
 * What an operator does by `kafka-transactions.sh`: aborts transactions that partitions hold open and no coordinator knows of. A line `TOPIC PARTITION OFFSET` for
 * each. Argument: bootstrap servers.
 */
public class AbortHangingTransactions {
  static final EnumSet<TransactionState> UNDER_WAY =
      EnumSet.of(TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT, TransactionState.PREPARE_EPOCH_FENCE);
  /** Longer than it takes from the end of a transaction to its marker. */
  static final long BETWEEN_LOOKS_MS = 1500;

  record Open(TopicPartition partition, long producerId, int epoch, int coordinatorEpoch, long offset) {}

  static Set<Open> open(Admin admin, Collection<TopicPartition> partitions) throws Exception {
    Set<Open> open = new HashSet<>();
    for (var entry : admin.describeProducers(partitions).all().get().entrySet()) {
      for (var of : entry.getValue().activeProducers()) {
        if (of.currentTransactionStartOffset().isEmpty()) continue;
        open.add(new Open(entry.getKey(), of.producerId(), of.producerEpoch(), of.coordinatorEpoch().orElse(0), of.currentTransactionStartOffset().getAsLong()));
      }
    }
    return open;
  }

  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      var topics = admin.describeTopics(admin.listTopics().names().get()).allTopicNames().get().values();
      List<TopicPartition> partitions = new ArrayList<>();
      for (var topic : topics)
        IntStream.range(0, topic.partitions().size()).forEach(i -> partitions.add(new TopicPartition(topic.name(), i)));
      Set<Open> hanging = open(admin, partitions);
      var known = admin.listTransactions().all().get().stream()
          .filter(of -> UNDER_WAY.contains(of.state()))
          .map(of -> of.producerId())
          .collect(Collectors.toSet());
      hanging.removeIf(of -> known.contains(of.producerId()));
      Thread.sleep(BETWEEN_LOOKS_MS);
      hanging.retainAll(open(admin, partitions));
      for (Open of : hanging) {
        var spec = new AbortTransactionSpec(of.partition(), of.producerId(), (short) of.epoch(), of.coordinatorEpoch());
        admin.abortTransaction(spec).all().get();
        System.out.printf("%s %d %d%n", of.partition().topic(), of.partition().partition(), of.offset());
      }
    }
  }
}
