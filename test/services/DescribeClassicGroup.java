import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;

/** Kafka's admin client on a classic group: a line `group STATE TYPE PROTOCOL`, and a line `member CLIENT-ID` for each. Arguments: bootstrap servers, group. */
public class DescribeClassicGroup {
  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      var group = admin.describeClassicGroups(List.of(args[1])).describedGroups().get(args[1]).get();
      System.out.printf("group %s %s %s%n", group.state(), group.protocol(), group.protocolData());
      for (var member : group.members()) System.out.println("member " + member.clientId());
    }
  }
}
