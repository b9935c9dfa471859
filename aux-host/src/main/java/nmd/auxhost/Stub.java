// SPDX-License-Identifier: Apache-2.0
package nmd.auxhost;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;

/**
 * An object of one of the NodeManager's interfaces that answers only the methods which AuxServices calls. These
 * interfaces have different methods in each version of Hadoop, so no class could implement all of them.
 */
final class Stub implements InvocationHandler {
    private final Class<?> type;
    private final Map<String, Object> answers;

    private Stub(Class<?> type, Map<String, Object> answers) {
        this.type = type;
        this.answers = answers;
    }

    /** Returns an object whose method NAME returns answers.get(NAME). */
    static <T> T of(Class<T> type, Map<String, Object> answers) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Stub(type, answers)));
    }

    @Override
    public Object invoke(Object stub, Method method, Object[] arguments) {
        String name = method.getName();
        if (answers.containsKey(name)) {
            return answers.get(name);
        }
        switch (name) {
            case "toString":
                return type.getSimpleName() + answers;
            case "hashCode":
                return System.identityHashCode(stub);
            case "equals":
                return stub == arguments[0];
            default:
                throw new UnsupportedOperationException(
                    "nmd's host of auxiliary services has no " + type.getSimpleName() + "." + name + "()");
        }
    }
}
