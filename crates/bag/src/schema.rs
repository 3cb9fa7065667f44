//! What a bag says of the types of its messages: their definitions, so that it can be read without them, and their
//! hashes.

use std::collections::BTreeSet;

/// A message type that bags of this package hold.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Full name, `package/msg/Type`.
    pub name: &'static str,
    /// REP 2011 hash of the type description, as Jazzy gives it.
    pub hash: &'static str,
    /// Fields as in the interface file, without its comments.
    pub text: &'static str,
}

/// The definition of a type, or `None` for one that this package does not know.
pub fn definition(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|d| d.name == name)
}

impl Definition {
    /// The text with those of all types it is made of appended, each once, as rosbag2 stores it under the encoding
    /// `ros2msg`: depth first, in the order of names, each after a line of 80 equals signs and `MSG: package/Type`.
    pub fn full_text(&self) -> String {
        let mut text = self.text.to_owned();
        self.append_parts(&mut text, &mut BTreeSet::new());
        text
    }

    fn append_parts(&self, out: &mut String, seen: &mut BTreeSet<&'static str>) {
        let parts: BTreeSet<&'static str> = self.parts().map(|part| part.name).collect();
        for part in parts.iter().filter_map(|name| definition(name)) {
            if seen.insert(part.name) {
                let short_name = part.name.replace("/msg/", "/");
                out.push_str(&format!("\n{}\nMSG: {short_name}\n{}", "=".repeat(80), part.text));
                part.append_parts(out, seen);
            }
        }
    }

    /// The types of the fields that are messages themselves.
    fn parts(&self) -> impl Iterator<Item = &'static Definition> {
        let own_package = self.name.split('/').next().unwrap_or_default();
        self.text.lines().filter_map(move |line| {
            let kind = line.split([' ', '[']).next()?;
            let (package, name) = kind.split_once('/').unwrap_or((own_package, kind));
            definition(&format!("{package}/msg/{name}"))
        })
    }
}

/// The types there are definitions of: those of [`lienav_intake::messages`].
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        name: "builtin_interfaces/msg/Time",
        hash: "RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197",
        text: "int32 sec\n\
            uint32 nanosec\n",
    },
    Definition {
        name: "std_msgs/msg/Header",
        hash: "RIHS01_f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01",
        text: "builtin_interfaces/Time stamp\n\
            string frame_id\n",
    },
    Definition {
        name: "geometry_msgs/msg/Point",
        hash: "RIHS01_6963084842a9b04494d6b2941d11444708d892da2f4b09843b9c43f42a7f6881",
        text: "float64 x\n\
            float64 y\n\
            float64 z\n",
    },
    Definition {
        name: "geometry_msgs/msg/Vector3",
        hash: "RIHS01_cc12fe83e4c02719f1ce8070bfd14aecd40f75a96696a67a2a1f37f7dbb0765d",
        text: "float64 x\n\
            float64 y\n\
            float64 z\n",
    },
    Definition {
        name: "geometry_msgs/msg/Quaternion",
        hash: "RIHS01_8a765f66778c8ff7c8ab94afcc590a2ed5325a1d9a076ffff38fbce36f458684",
        text: "float64 x 0\n\
            float64 y 0\n\
            float64 z 0\n\
            float64 w 1\n",
    },
    Definition {
        name: "geometry_msgs/msg/Pose",
        hash: "RIHS01_d501954e9476cea2996984e812054b68026ae0bfae789d9a10b23daf35cc90fa",
        text: "Point position\n\
            Quaternion orientation\n",
    },
    Definition {
        name: "geometry_msgs/msg/PoseStamped",
        hash: "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8",
        text: "std_msgs/Header header\n\
            Pose pose\n",
    },
    Definition {
        name: "geometry_msgs/msg/PoseWithCovariance",
        hash: "RIHS01_9a7c0fd234b7f45c6098745ecccd773ca1085670e64107135397aee31c02e1bb",
        text: "Pose pose\n\
            float64[36] covariance\n",
    },
    Definition {
        name: "geometry_msgs/msg/PoseWithCovarianceStamped",
        hash: "RIHS01_26432f9803e43727d3c8f668d1fdb3c630f548af631e2f4e31382371bfea3b6e",
        text: "std_msgs/Header header\n\
            PoseWithCovariance pose\n",
    },
    Definition {
        name: "geometry_msgs/msg/Twist",
        hash: "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a",
        text: "Vector3 linear\n\
            Vector3 angular\n",
    },
    Definition {
        name: "geometry_msgs/msg/TwistWithCovariance",
        hash: "RIHS01_49f574f033f095d8b6cd1beaca5ca7925e296e84af1716d16c89d38b059c8c18",
        text: "Twist twist\n\
            float64[36] covariance\n",
    },
    Definition {
        name: "geometry_msgs/msg/Transform",
        hash: "RIHS01_beb83fbe698636351461f6f35d1abb20010c43d55374d81bd041f1ba2581fddc",
        text: "Vector3 translation\n\
            Quaternion rotation\n",
    },
    Definition {
        name: "geometry_msgs/msg/TransformStamped",
        hash: "RIHS01_0a241f87d04668d94099cbb5ba11691d5ad32c2f29682e4eb5653424bd275206",
        text: "std_msgs/Header header\n\
            string child_frame_id\n\
            Transform transform\n",
    },
    Definition {
        name: "nav_msgs/msg/Odometry",
        hash: "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
        text: "std_msgs/Header header\n\
            string child_frame_id\n\
            geometry_msgs/PoseWithCovariance pose\n\
            geometry_msgs/TwistWithCovariance twist\n",
    },
    Definition {
        name: "nav_msgs/msg/Path",
        hash: "RIHS01_1957a5bb3cee5da65c4e52e52b65a93df227efce4c20f8458b36e73066ca334b",
        text: "std_msgs/Header header\n\
            geometry_msgs/PoseStamped[] poses\n",
    },
    Definition {
        name: "sensor_msgs/msg/PointField",
        hash: "RIHS01_5c6a4750728c2bcfbbf7037225b20b02d4429634732146b742dee1726637ef01",
        text: "uint8 INT8=1\n\
            uint8 UINT8=2\n\
            uint8 INT16=3\n\
            uint8 UINT16=4\n\
            uint8 INT32=5\n\
            uint8 UINT32=6\n\
            uint8 FLOAT32=7\n\
            uint8 FLOAT64=8\n\
            string name\n\
            uint32 offset\n\
            uint8 datatype\n\
            uint32 count\n",
    },
    Definition {
        name: "sensor_msgs/msg/PointCloud2",
        hash: "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
        text: "std_msgs/Header header\n\
            uint32 height\n\
            uint32 width\n\
            PointField[] fields\n\
            bool is_bigendian\n\
            uint32 point_step\n\
            uint32 row_step\n\
            uint8[] data\n\
            bool is_dense\n",
    },
    Definition {
        name: "sensor_msgs/msg/RegionOfInterest",
        hash: "RIHS01_ad16bcba5f9131dcdba6fbded19f726f5440e3c513b4fb586dd3027eeed8abb1",
        text: "uint32 x_offset\n\
            uint32 y_offset\n\
            uint32 height\n\
            uint32 width\n\
            bool do_rectify\n",
    },
    Definition {
        name: "sensor_msgs/msg/CameraInfo",
        hash: "RIHS01_b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
        text: "std_msgs/Header header\n\
            uint32 height\n\
            uint32 width\n\
            string distortion_model\n\
            float64[] d\n\
            float64[9] k\n\
            float64[9] r\n\
            float64[12] p\n\
            uint32 binning_x\n\
            uint32 binning_y\n\
            RegionOfInterest roi\n",
    },
    Definition {
        name: "sensor_msgs/msg/Imu",
        hash: "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
        text: "std_msgs/Header header\n\
            geometry_msgs/Quaternion orientation\n\
            float64[9] orientation_covariance\n\
            geometry_msgs/Vector3 angular_velocity\n\
            float64[9] angular_velocity_covariance\n\
            geometry_msgs/Vector3 linear_acceleration\n\
            float64[9] linear_acceleration_covariance\n",
    },
    Definition {
        name: "sensor_msgs/msg/NavSatStatus",
        hash: "RIHS01_d1ed3befa628e09571bd273b888ba1c1fd187c9a5e0006b385d7e5e9095a3204",
        text: "int8 status\n\
            uint16 service\n",
    },
    Definition {
        name: "sensor_msgs/msg/NavSatFix",
        hash: "RIHS01_62223ab3fe210a15976021da7afddc9e200dc9ec75231c1b6a557fc598a65404",
        text: "std_msgs/Header header\n\
            NavSatStatus status\n\
            float64 latitude\n\
            float64 longitude\n\
            float64 altitude\n\
            float64[9] position_covariance\n\
            uint8 position_covariance_type\n",
    },
    Definition {
        name: "rosgraph_msgs/msg/Clock",
        hash: "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
        text: "builtin_interfaces/Time clock\n",
    },
    Definition {
        name: "tf2_msgs/msg/TFMessage",
        hash: "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
        text: "geometry_msgs/TransformStamped[] transforms\n",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_holds_every_type_it_is_made_of_once() {
        let text = definition("nav_msgs/msg/Odometry").unwrap().full_text();
        let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("MSG: ")).collect();
        assert_eq!(
            names,
            [
                "geometry_msgs/PoseWithCovariance",
                "geometry_msgs/Pose",
                "geometry_msgs/Point",
                "geometry_msgs/Quaternion",
                "geometry_msgs/TwistWithCovariance",
                "geometry_msgs/Twist",
                "geometry_msgs/Vector3",
                "std_msgs/Header",
                "builtin_interfaces/Time",
            ]
        );
        assert!(text.contains("pose\nfloat64[36] covariance\n\n====="), "{text}");
    }

    #[test]
    fn every_field_has_a_known_type() {
        const PLAIN: [&str; 8] = ["int8", "int32", "uint16", "uint32", "uint8", "bool", "float64", "string"];
        for definition in DEFINITIONS {
            let messages = definition.text.lines().filter(|l| !PLAIN.contains(&l.split([' ', '[']).next().unwrap()));
            assert_eq!(messages.count(), definition.parts().count(), "{}", definition.name);
        }
    }
}
