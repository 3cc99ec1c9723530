/**
 * The few classes of {@code androidx.test:monitor} that Robolectric touches when it runs the framework without
 * instrumentation tests. That artifact is not on Maven Central. They have the names and signatures that Robolectric links
 * against and do nothing beyond what it relies on.
 */
package androidx.test;
