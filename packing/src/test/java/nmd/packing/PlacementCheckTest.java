// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class PlacementCheckTest {
    private static final String CS = "yarn.scheduler.capacity.";
    private static final String ALL = CS + "multi-node-sorting.policy";

    /** Returns a configuration in which the policy is registered, but no queue uses it. */
    private static Configuration conf(String... pairs) {
        Configuration conf = new Configuration(false);
        conf.set(CS + "multi-node-placement-enabled", "true");
        conf.set(ALL + ".names", "pack");
        conf.set(ALL + ".pack.class", PackingPolicy.class.getName());
        conf.set(CS + "root.queues", "a, b");
        for (int i = 0; i < pairs.length; i += 2) {
            conf.set(pairs[i], pairs[i + 1]);
        }
        return conf;
    }

    private static String refusal(String... pairs) {
        return assertThrows(PackingException.class, () -> PlacementCheck.everyQueueHasPolicy(conf(pairs))).getMessage();
    }

    private static void accepts(String... pairs) {
        PlacementCheck.everyQueueHasPolicy(conf(pairs));
    }

    private static String queueKey(String path) {
        return CS + path + ".multi-node-sorting.policy";
    }

    @Test
    void theKeyForAllQueuesIsEnough() {
        accepts(ALL, "pack");
        accepts(ALL, " pack ");
    }

    @Test
    void eachQueueMayHaveItsOwnPolicy() {
        accepts(queueKey("root.a"), "pack", queueKey("root.b"), "pack");
        accepts(queueKey("root.a"), "pack", queueKey("root.b"), "default", ALL + ".names", "pack,default");
    }

    @Test
    void aQueueWithoutAPolicyIsRefusedByName() {
        assertEquals("All containers of queue root.b would go to one node: " + CS
                + "multi-node-placement-enabled is true, and neither " + queueKey("root.b") + " nor " + ALL
                + " names a policy. Set " + ALL
                + " to the name of a policy, for all queues.", refusal(queueKey("root.a"), "pack"));
        assertEquals("queue root.a", refusal().replaceAll("All containers of (.*) would go.*", "$1"));
    }

    @Test
    void theKeyOfAParentDoesntApplyToItsChildren() {
        String message = refusal(queueKey("root"), "pack", queueKey("root.a"), "pack", queueKey("root.b"), "pack",
                CS + "root.b.queues", "x");
        assertEquals("queue root.b.x", message.replaceAll("All containers of (.*) would go.*", "$1"));
    }

    @Test
    void aQueueWhosePolicyKeyIsEmptyIsRefused() {
        assertEquals("All containers of queue root.b would go to one node: " + CS
                + "multi-node-placement-enabled is true, and " + queueKey("root.b") + " is empty. Set " + ALL
                + " to the name of a policy, for all queues.",
                refusal(ALL, "pack", queueKey("root.b"), ""));
    }

    @Test
    void aQueueWhosePolicyIsNotRegisteredIsRefused() {
        assertEquals("All containers of queue root.a would go to one node: " + ALL + " is \"other\", but " + ALL
                + ".names (\"pack\") doesn't contain it. Add it there.",
                refusal(ALL, "other", ALL + ".other.class", "some.Policy"));
        assertEquals("All containers of queue root.a would go to one node: " + ALL + " is \"pack\", but " + ALL
                + ".names (\"\") doesn't contain it. Add it there.", refusal(ALL, "pack", ALL + ".names", ""));
    }

    @Test
    void twoNamesOfOneRegisteredClassAreOnePolicy() {
        accepts(ALL, "alias", ALL + ".alias.class", PackingPolicy.class.getName());
    }

    @Test
    void automaticallyCreatedQueuesNeedAPolicy() {
        String kind1 = CS + "root.b.auto-create-child-queue.enabled";
        String kind2 = CS + "root.b.auto-queue-creation-v2.enabled";
        for (String kind : new String[] {kind1, kind2}) {
            assertEquals("a queue that is created automatically below root.b",
                    refusal(queueKey("root.a"), "pack", queueKey("root.b"), "pack", kind, "true")
                            .replaceAll("All containers of (.*) would go.*", "$1"));
            accepts(ALL, "pack", kind, "true");
        }
        accepts(queueKey("root.a"), "pack", kind1, "true", queueKey("root.b.leaf-queue-template"), "pack");
        accepts(queueKey("root.a"), "pack", kind2, "true", queueKey("root.b.auto-queue-creation-v2.template"), "pack");
        accepts(queueKey("root.a"), "pack", kind2, "true", queueKey("root.b.auto-queue-creation-v2.leaf-template"),
                "pack");
    }

    @Test
    void theNameOfThePolicyIsFoundByItsClass() {
        String ours = PackingPolicy.class.getName();
        assertEquals("pack", PolicySetup.nameOf(conf(), ours));
        assertEquals("tight", PolicySetup.nameOf(conf(ALL + ".names", "default,tight", ALL + ".tight.class", ours),
                ours));
        assertEquals(ALL + ".names must have one name whose class is " + ours + "; it has pack, tight.",
                assertThrows(PackingException.class, () -> PolicySetup.nameOf(conf(ALL + ".names", "pack, tight",
                        ALL + ".tight.class", ours), ours)).getMessage());
        assertEquals(ALL + ".names must have one name whose class is " + ours + "; it has none.",
                assertThrows(PackingException.class, () ->
                        PolicySetup.nameOf(conf(ALL + ".names", ""), ours)).getMessage());
    }
}
