//! Messages to bytes and back: plain CDR (XCDR1) with the four bytes in front that say so and give the byte order (OMG
//! DDSI-RTPS 2.3, 10.2), as rmw serialises and rosbag2 stores them.

use byteorder::{BigEndian, LittleEndian};
use lienav_intake::messages::Message;

/// Bytes that are not a message of the type they should be.
#[derive(Debug, thiserror::Error)]
pub enum CdrError {
    /// Fewer than four bytes.
    #[error("the message has {0} bytes, too few for a CDR header")]
    NoHeader(usize),
    /// Another encoding than plain CDR.
    #[error("the message has the encoding {0:#06x}, expected plain CDR (0x0000 or 0x0001)")]
    Encoding(u16),
    /// The content does not fit the type.
    #[error("the message could not be decoded as {type_name}")]
    Content {
        /// The type it should be.
        type_name: &'static str,
        /// What the decoder says.
        #[source]
        error: cdr_encoding::Error,
    },
    /// A message that CDR cannot express.
    #[error("the message could not be encoded as {type_name}: {error}")]
    Unencodable {
        /// Its type.
        type_name: &'static str,
        /// What the encoder says.
        error: cdr_encoding::Error,
    },
}

const BIG_ENDIAN: u16 = 0x0000;
const LITTLE_ENDIAN: u16 = 0x0001;

/// Encodes a message, little endian.
///
/// # Errors
/// Never for the messages of [`lienav_intake::messages`]; a type that CDR cannot express.
pub fn encode<M: Message>(message: &M) -> Result<Vec<u8>, CdrError> {
    let mut bytes = vec![0, 1, 0, 0];
    cdr_encoding::to_writer::<M, LittleEndian, _>(&mut bytes, message)
        .map_err(|error| CdrError::Unencodable { type_name: M::TYPE, error })?;
    Ok(bytes)
}

/// Decodes a message of either byte order. Bytes after its end are ignored, as rmw does.
///
/// # Errors
/// [`CdrError`]. No length in the data makes it allocate more than the data are long.
pub fn decode<M: Message>(bytes: &[u8]) -> Result<M, CdrError> {
    let Some((&[high, low, ..], body)) = bytes.split_first_chunk::<4>() else {
        return Err(CdrError::NoHeader(bytes.len()));
    };
    let decoded = match u16::from_be_bytes([high, low]) {
        LITTLE_ENDIAN => cdr_encoding::from_bytes::<M, LittleEndian>(body),
        BIG_ENDIAN => cdr_encoding::from_bytes::<M, BigEndian>(body),
        other => return Err(CdrError::Encoding(other)),
    };
    decoded.map(|(message, _)| message).map_err(|error| CdrError::Content { type_name: M::TYPE, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_tests::Random;
    use lienav_intake::messages::*;

    fn odometry() -> Odometry {
        let mut message = Odometry { child_frame_id: "base_link".into(), ..Odometry::default() };
        message.header = Header { stamp: Time { sec: -3, nanosec: 999_999_999 }, frame_id: "odom".into() };
        message.twist.twist.linear.x = 0.1;
        message.twist.covariance.0[35] = -0.5;
        message
    }

    fn cloud() -> PointCloud2 {
        let field = PointField { name: "range".into(), offset: 4, datatype: 8, count: 1 };
        PointCloud2 {
            fields: vec![field.clone(), field],
            data: Bytes(vec![1, 2, 3]),
            is_dense: true,
            ..PointCloud2::default()
        }
    }

    #[test]
    fn alignment_is_that_of_the_standard() {
        // "odom" fills 4 + 5 bytes after the stamp, so the next string's length begins at 20, and the first double at
        // the multiple of eight after "base_link".
        let bytes = encode(&odometry()).unwrap();
        assert_eq!(bytes[..16], [0, 1, 0, 0, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x9a, 0x3b, 5, 0, 0, 0]);
        assert_eq!(bytes[16..28], [b'o', b'd', b'o', b'm', 0, 0, 0, 0, 10, 0, 0, 0]);
        // Pose 7, its covariance 36, twist 6 and its covariance 36 doubles.
        assert_eq!(bytes.len(), 4 + 40 + 8 * (7 + 36 + 6 + 36));
    }

    #[test]
    fn both_byte_orders_are_read() {
        let mut big = vec![0, 0, 0, 0];
        cdr_encoding::to_writer::<_, BigEndian, _>(&mut big, &odometry()).unwrap();
        assert_eq!(decode::<Odometry>(&big).unwrap(), odometry());
        assert_eq!(decode::<Odometry>(&encode(&odometry()).unwrap()).unwrap(), odometry());
        assert_eq!(decode::<PointCloud2>(&encode(&cloud()).unwrap()).unwrap(), cloud());
        assert!(matches!(decode::<Clock>(&[0, 7, 0, 0, 1]), Err(CdrError::Encoding(7))));
    }

    #[test]
    fn a_length_that_lies_is_an_error_and_allocates_nothing() {
        let path = [&[0, 1, 0, 0][..], &[0; 8], &[1, 0, 0, 0, 0, 0, 0, 0], &[0xff; 4]].concat();
        let error = decode::<Path>(&path).unwrap_err().to_string();
        assert_eq!(error, "the message could not be decoded as nav_msgs/msg/Path");
        let mut lying = encode(&cloud()).unwrap();
        let at = lying.len() - 8;
        lying[at..at + 4].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
        assert!(decode::<PointCloud2>(&lying).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut random = Random(1);
        for case in 0..256 {
            let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.byte()).collect();
            let bytes = if case % 2 == 0 { [&[0, 1, 0, 0], &bytes[..]].concat() } else { bytes };
            let _ = decode::<Odometry>(&bytes);
            let _ = decode::<PointCloud2>(&bytes);
            let _ = decode::<Imu>(&bytes);
            let _ = decode::<TfMessage>(&bytes);
        }
    }

    #[test]
    fn a_part_of_a_message_is_an_error() {
        for cut in 0..100 {
            let bytes = encode(&cloud()).unwrap();
            assert!(decode::<PointCloud2>(&bytes[..cut.min(bytes.len() - 1)]).is_err(), "{cut}");
            let bytes = encode(&odometry()).unwrap();
            assert!(decode::<Odometry>(&bytes[..cut * (bytes.len() - 1) / 100]).is_err(), "{cut}");
        }
    }
}
