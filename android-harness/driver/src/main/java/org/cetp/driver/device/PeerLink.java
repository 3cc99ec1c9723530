package org.cetp.driver.device;

import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.ServiceConnection;
import android.os.Build;
import android.os.IBinder;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import android.os.RemoteException;
import android.util.Log;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.cetp.driver.Rpc;

/**
 * The way from one app of the harness to another: from the front driver to another caller's, and from a consumer to a
 * scripted provider. The Binder hands over one end of a socket pair and is then out of the way: replies that fill a
 * transaction on their way from the provider need not fit into another one.
 */
public final class PeerLink {
    /** The one transaction: a text in, a descriptor out. */
    static final int OPEN = IBinder.FIRST_CALL_TRANSACTION;

    static final String DESCRIPTOR = "org.cetp.driver.PeerLink";

    private PeerLink() {}

    /**
     * Binds to a Service whose {@link PeerBinder} opens a session; null where that app is not installed.
     *
     * @param argument what the session is about
     * @param handler answers what the other side asks
     * @param millis how long the app may take to come up
     */
    public static Rpc connect(
            final Context context, ComponentName service, String argument, Rpc.Handler handler, long millis)
            throws IOException {
        String packageName = service.getPackageName();
        final CountDownLatch connected = new CountDownLatch(1);
        final IBinder[] binder = new IBinder[1];
        final ServiceConnection connection =
                new ServiceConnection() {
                    @Override
                    public void onServiceConnected(ComponentName name, IBinder service) {
                        binder[0] = service;
                        connected.countDown();
                    }

                    @Override
                    public void onServiceDisconnected(ComponentName name) {
                        Log.w(SocketServer.TAG, name.getPackageName() + " is gone");
                    }
                };
        Intent intent = new Intent().setComponent(service);
        int flags = Context.BIND_AUTO_CREATE;
        if (Build.VERSION.SDK_INT >= 34) {
            flags |= Context.BIND_ALLOW_ACTIVITY_STARTS; // the other app opens resolutions too
        }
        if (!context.bindService(intent, connection, flags)) {
            context.unbindService(connection);
            return null;
        }
        boolean linked = false;
        try {
            if (!connected.await(millis, TimeUnit.MILLISECONDS)) {
                throw new IOException(packageName + " does not come up");
            }
            Runnable over =
                    new Runnable() {
                        @Override
                        public void run() {
                            context.unbindService(connection);
                        }
                    };
            Rpc rpc = start(open(binder[0], argument), packageName, handler, over);
            linked = true;
            return rpc;
        } catch (InterruptedException | RemoteException failure) {
            throw new IOException(packageName + ": " + failure);
        } finally {
            if (!linked) {
                context.unbindService(connection);
            }
        }
    }

    private static ParcelFileDescriptor open(IBinder binder, String argument) throws RemoteException {
        Parcel request = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        try {
            request.writeInterfaceToken(DESCRIPTOR);
            request.writeString(argument);
            binder.transact(OPEN, request, reply, 0);
            reply.readException();
            return ParcelFileDescriptor.CREATOR.createFromParcel(reply);
        } finally {
            reply.recycle();
            request.recycle();
        }
    }

    private static Rpc start(
            ParcelFileDescriptor socket, final String packageName, Rpc.Handler handler, final Runnable over) {
        // Unbound before anybody can learn that the link is closed: who then binds again would join the Service that has just
        // died, which the system starts anew only after a delay that grows with each death.
        ParcelFileDescriptor.AutoCloseInputStream in =
                new ParcelFileDescriptor.AutoCloseInputStream(socket) {
                    private boolean closed;

                    @Override
                    public void close() throws IOException {
                        synchronized (this) {
                            if (closed) {
                                return;
                            }
                            closed = true;
                        }
                        over.run();
                        super.close();
                    }
                };
        final Rpc rpc = new Rpc(in, new java.io.FileOutputStream(socket.getFileDescriptor()), handler);
        Thread reader =
                new Thread("peer-link") {
                    @Override
                    public void run() {
                        try {
                            rpc.run();
                        } catch (IOException ended) {
                            Log.i(SocketServer.TAG, packageName + ": " + ended.getMessage());
                        }
                    }
                };
        reader.setDaemon(true);
        reader.start();
        return rpc;
    }
}
