//! From r2r's streams to one place: whatever arrives, as an event of one type.

use futures::{FutureExt, Stream, StreamExt};

/// Gives what has arrived at one subscription or service since the last call; never waits.
pub type Inbox<E> = Box<dyn FnMut(&mut dyn FnMut(E)) + Send>;

/// Takes everything that `stream` has ready, as events.
pub fn receive<T: 'static, E: 'static>(
    mut stream: impl Stream<Item = T> + Unpin + Send + 'static,
    event: impl Fn(T) -> E + Send + 'static,
) -> Inbox<E> {
    Box::new(move |take| {
        while let Some(Some(item)) = stream.next().now_or_never() {
            take(event(item));
        }
    })
}

/// An inbox whose events become those of another type.
pub fn relay<A: 'static, B: 'static>(mut inbox: Inbox<A>, event: impl Fn(A) -> B + Send + 'static) -> Inbox<B> {
    Box::new(move |take| inbox(&mut |item| take(event(item))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_there_is_taken_and_nothing_is_waited_for() {
        let (mut sender, stream) = futures::channel::mpsc::channel(10);
        let mut inbox = receive(stream, |x: u32| x + 1);
        let mut taken = Vec::new();
        inbox(&mut |x| taken.push(x));
        assert!(taken.is_empty());
        (0..3).for_each(|x| sender.try_send(x).unwrap());
        inbox(&mut |x| taken.push(x));
        assert_eq!(taken, [1, 2, 3]);
    }
}
