// From the socket to the row objects of com.zendesk:mysql-binlog-connector-java, as it comes.
// java -cp LIBRARIES BinlogClient.java PORT FILE POSITION ROWS WARM_UPS PASSES SERVER_ID
import com.github.shyiko.mysql.binlog.BinaryLogClient;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;

public class BinlogClient {
  static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  // From the first rows on, which are not counted themselves, so that connecting is not either.
  static long total, rows, nanos, cpu;
  static long start, startCpu;

  static boolean add(int count, long wanted) {
    total += count;
    if (start == 0) {
      start = System.nanoTime();
      startCpu = SYSTEM.getProcessCpuTime();
    } else {
      rows += count;
    }
    if (total < wanted) return false;
    nanos += System.nanoTime() - start;
    cpu += SYSTEM.getProcessCpuTime() - startCpu;
    return true;
  }

  static void read(String[] a, long wanted, long serverId) throws Exception {
    BinaryLogClient client = new BinaryLogClient("127.0.0.1", Integer.parseInt(a[0]), "root", "");
    client.setServerId(serverId);
    client.setBinlogFilename(a[1]);
    client.setBinlogPosition(Long.parseLong(a[2]));
    total = 0;
    start = 0;
    CountDownLatch done = new CountDownLatch(1);
    client.registerEventListener(event -> {
      EventData data = event.getData();
      int count;
      if (data instanceof WriteRowsEventData) count = ((WriteRowsEventData) data).getRows().size();
      else if (data instanceof UpdateRowsEventData) count = ((UpdateRowsEventData) data).getRows().size();
      else return;
      if (done.getCount() > 0 && add(count, wanted)) done.countDown();
    });
    Thread thread = new Thread(() -> {
      try {
        client.connect();
      } catch (Exception e) {
        e.printStackTrace();
        System.exit(1);
      }
    });
    thread.start();
    done.await();
    client.disconnect();
    thread.join();
  }

  public static void main(String[] a) throws Exception {
    long wanted = Long.parseLong(a[3]);
    int warmUps = Integer.parseInt(a[4]);
    int passes = Integer.parseInt(a[5]);
    long serverId = Long.parseLong(a[6]);
    for (int i = 0; i < warmUps; i++) read(a, wanted, serverId + i);
    rows = nanos = cpu = 0;
    for (int i = 0; i < passes; i++) read(a, wanted, serverId + warmUps + i);
    System.out.printf("{\"rows\":%d,\"bytes\":null,\"seconds\":%s,\"cpuMicros\":%d}%n", rows, nanos / 1e9, cpu / 1000);
    System.exit(0);
  }
}
