// SPDX-License-Identifier: Apache-2.0

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.ContainerManagementProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.GetContainerStatusesRequest;
import org.apache.hadoop.yarn.api.protocolrecords.StopContainersRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.ipc.YarnRPC;
import org.apache.hadoop.yarn.security.NMTokenIdentifier;

/**
 * Hadoop's own client of nodes, with a token that this program makes: {@code java TokenClient.java PORT KEY KEY-ID}.
 * Requests the statuses of two containers, and then to stop one, and prints the results.
 */
public final class TokenClient {
    private TokenClient() {
    }

    private static Token<NMTokenIdentifier> token(NMTokenIdentifier id, String key, InetSocketAddress address)
            throws Exception {
        Mac mac = Mac.getInstance("HmacSHA1");
        mac.init(new SecretKeySpec(key.getBytes(StandardCharsets.US_ASCII), "HmacSHA1"));
        Token<NMTokenIdentifier> token =
                new Token<>(id.getBytes(), mac.doFinal(id.getBytes()), NMTokenIdentifier.KIND, new Text());
        SecurityUtil.setTokenService(token, address);
        return token;
    }

    private static void talk(ContainerManagementProtocol node, ApplicationAttemptId attempt) throws Exception {
        List<ContainerId> ids = List.of(ContainerId.newContainerId(attempt, (2L << 40) | 1),
                ContainerId.newContainerId(attempt, -1));
        for (ContainerStatus s : node.getContainerStatuses(GetContainerStatusesRequest.newInstance(ids))
                .getContainerStatuses()) {
            System.out.println(s.getContainerId() + " " + s.getState() + " " + s.getExitStatus() + " "
                    + s.getDiagnostics());
        }
        try {
            node.stopContainers(StopContainersRequest.newInstance(ids.subList(0, 1)));
            System.out.println("stopped");
        } catch (Exception e) {
            System.out.println(e.getClass().getName() + ": " + e.getMessage().lines().findFirst().orElse(""));
        }
    }

    /** Runs the requests that the class comment describes. */
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.setInt("ipc.client.connect.max.retries", 1);
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
        ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(ApplicationId.newInstance(1700000000000L, 7),
                1);
        NodeId self = NodeId.newInstance("127.0.0.1", address.getPort());
        UserGroupInformation user = UserGroupInformation.createRemoteUser(attempt.toString());
        user.addToken(token(new NMTokenIdentifier(attempt, self, "alice", Integer.parseInt(args[2])), args[1],
                address));
        try {
            user.doAs((PrivilegedExceptionAction<Void>) () -> {
                YarnRPC rpc = YarnRPC.create(conf);
                ContainerManagementProtocol node =
                        (ContainerManagementProtocol) rpc.getProxy(ContainerManagementProtocol.class, address, conf);
                talk(node, attempt);
                rpc.stopProxy(node, conf);
                return null;
            });
        } catch (Exception e) {
            System.out.println("refused: " + e.getMessage().lines().findFirst().orElse(""));
        }
    }
}
